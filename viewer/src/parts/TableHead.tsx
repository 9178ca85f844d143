import { type Column, direction, pressed } from './column'
import { Icon } from './Icon'
import styles from './VirtualTable.module.css'

interface TableHeadProps<Row> {
  columns: readonly Column<Row>[]
  grid: string
  /** Pixels that the columns need at least. */
  least: number
  height: number
  boxes: boolean
  sort?: string
  onSort?: (sort: string) => void
}

const ICONS = { ascending: 'arrowUp', descending: 'arrowDown', none: 'blank' } as const

/** The row of headers of a virtual table; those that sort are buttons. */
export function TableHead<Row>({ columns, grid, least, height, boxes, sort, onSort }: TableHeadProps<Row>) {
  return (
    <div role="rowgroup" className={styles.head} style={{ minWidth: least }}>
      <div role="row" aria-rowindex={1} className={styles.headRow} style={{ gridTemplateColumns: grid, height }}>
        {boxes && (
          <div role="columnheader" className={styles.headCell}>
            <span className="hidden-text">Selected</span>
          </div>
        )}
        {columns.map((column) => {
          const key = column.sort
          const way = key === undefined ? undefined : direction(sort, key)
          return (
            <div
              key={column.key}
              role="columnheader"
              aria-sort={way}
              title={column.title}
              className={styles.headCell}
              data-align={column.align}
            >
              {key !== undefined && way !== undefined && onSort ? (
                <button
                  type="button"
                  className={styles.sort}
                  onClick={() => onSort(pressed(sort, key, column.align === 'end'))}
                >
                  {column.header}
                  <Icon name={ICONS[way]} size={12} />
                </button>
              ) : (
                column.header
              )}
            </div>
          )
        })}
      </div>
    </div>
  )
}
