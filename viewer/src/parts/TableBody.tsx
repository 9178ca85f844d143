import type { ReactNode } from 'react'
import type { Column } from './column'
import { TableRow } from './TableRow'
import type { Rows } from './useRows'
import styles from './VirtualTable.module.css'
import { drawn } from './windowing'

/** The rows of a table that are in view. */
interface TableBodyProps<Row> {
  /** What the ids of the rows begin with. */
  id: string
  rows: Rows
  columns: readonly Column<Row>[]
  grid: string
  /** The least width in pixels. */
  least: number
  rowHeight: number
  getRow: (index: number) => Row | undefined
  /** Whether a row is chosen; not given where rows cannot be. */
  chosen?: (row: Row) => boolean
  mark?: (row: Row) => string | undefined
  heading?: (row: Row) => ReactNode
  onOpen?: (index: number) => void
  onToggle?: (index: number) => void
}

/** Draw the rows in view where they belong in a body that is as tall as all of them. */
export function TableBody<Row>(props: TableBodyProps<Row>) {
  const { id, rows, columns, grid, least, rowHeight, getRow, chosen, mark, heading, onOpen, onToggle } = props
  const { first, last, tall, offset, active, setActive } = rows
  const slots = drawn(rowHeight, rows.body)
  return (
    <div role="rowgroup" className={styles.body} style={{ height: tall, minWidth: least }}>
      {Array.from({ length: last - first + 1 }, (_none, at) => {
        const index = first + at
        const row = getRow(index)
        return (
          <TableRow
            // Rows that leave lend their elements to those that come: fast scrolling would leave 200 MB of old ones.
            key={index % slots}
            id={`${id}-${index}`}
            index={index}
            row={row}
            columns={columns}
            grid={grid}
            top={offset + at * rowHeight}
            height={rowHeight}
            active={index === active}
            chosen={row === undefined ? undefined : chosen?.(row)}
            heading={row === undefined ? undefined : heading?.(row)}
            mark={row === undefined ? undefined : mark?.(row)}
            onPoint={setActive}
            onOpen={onOpen}
            onToggle={onToggle}
          />
        )
      })}
    </div>
  )
}
