import { type ReactNode, useState } from 'react'
import { count } from '../format'
import { TextButton } from '../parts/TextButton'
import { Marked } from './Marked'
import { brief } from './marks'
import type { Rows } from './rows'
import styles from './rows.module.css'
import { ScrollBox } from './ScrollBox'

const PAGE = 100

interface RowsTableProps {
  rows: Rows
  highlight?: string
  /** A column behind those of the rows. */
  further?: { title: string; cell: (line: number) => ReactNode }
}

/** Rows with named columns; long tables are shown a hundred rows at a time. */
export function RowsTable({ rows, highlight = '', further }: RowsTableProps) {
  const [shown, setShown] = useState(PAGE)
  const numeric = rows.columns.map((_, column) => rows.rows.slice(0, 50).every((row) => isNumber(row[column])))
  return (
    <div>
      <ScrollBox className={styles.scroll} label={`Table of ${count(rows.rows.length)} rows`}>
        <table className={styles.table}>
          <thead>
            <tr>
              {rows.columns.map((name, column) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: columns may share a name
                <th key={column} scope="col" className={numeric[column] ? styles.number : undefined}>
                  <Marked text={name} highlight={highlight} />
                </th>
              ))}
              {further && <th scope="col">{further.title}</th>}
            </tr>
          </thead>
          <tbody>
            {rows.rows.slice(0, shown).map((row, line) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: rows have no other identity
              <tr key={line}>
                {row.map((cell, column) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: a cell is its place
                  <td key={column} className={numeric[column] ? styles.number : undefined}>
                    {cellText(cell) === null ? (
                      <span className={styles.nothing}>–</span>
                    ) : (
                      <Marked text={cellText(cell) ?? ''} highlight={highlight} />
                    )}
                  </td>
                ))}
                {further && <td>{further.cell(line)}</td>}
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollBox>
      {shown < rows.rows.length && (
        <TextButton onClick={() => setShown(shown * 4)}>
          Show more of {count(rows.rows.length)}
          {rows.more ? '+' : ''} rows
        </TextButton>
      )}
    </div>
  )
}

function isNumber(value: unknown): boolean {
  return typeof value === 'number' || value == null || (typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value))
}

function cellText(value: unknown): string | null {
  if (value === null || value === undefined) return null
  return brief(typeof value === 'string' ? value : JSON.stringify(value), 300)
}
