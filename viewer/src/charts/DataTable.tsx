import styles from './DataTable.module.css'

/** Rows of numbers behind a chart. */
export interface DataTableProps {
  head: readonly string[]
  rows: readonly (readonly (string | number)[])[]
}

const MOST = 500

/** The numbers of a chart as a plain table; of very many, the first ones. */
export function DataTable({ head, rows }: DataTableProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable
    <section className={styles.scroll} aria-label="Numbers of the chart" tabIndex={0}>
      <table className={styles.table}>
        <thead>
          <tr>
            {head.map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, MOST).map((row, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows have no identity of their own
            <tr key={at}>
              {row.map((cell, column) => (
                <td key={head[column]}>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > MOST && (
        <p>
          The first {MOST} of {rows.length}.
        </p>
      )}
    </section>
  )
}
