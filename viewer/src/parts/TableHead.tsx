import type { PointerEvent } from 'react'
import { type Column, direction, pressed, WIDEST } from './column'
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
  onResize?: (key: string, width: number) => void
}

const ICONS = { ascending: 'arrowUp', descending: 'arrowDown', none: 'blank' } as const

/** The row of headers of a virtual table; those that sort are buttons. */
export function TableHead<Row>({ columns, grid, least, height, boxes, sort, onSort, onResize }: TableHeadProps<Row>) {
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
              aria-label={onResize && column.header}
              data-tip={column.title}
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
              {onResize && <Resizer column={column} onResize={onResize} />}
            </div>
          )
        })}
      </div>
    </div>
  )
}

/** Pixels that a column grows or shrinks by with a key. */
const STEP = 16

/** The edge of a column: dragged, or moved with the left and right arrow, it changes its width. */
function Resizer<Row>({ column, onResize }: { column: Column<Row>; onResize: (key: string, width: number) => void }) {
  const { key, header, width } = column
  const resize = (next: number) => onResize(key, Math.round(Math.max(column.least ?? 48, Math.min(WIDEST, next))))
  const drag = (event: PointerEvent<HTMLElement>) => {
    const edge = event.currentTarget
    const before = edge.parentElement?.offsetWidth ?? width
    const start = event.clientX
    event.preventDefault()
    edge.setPointerCapture(event.pointerId)
    const move = ({ clientX }: globalThis.PointerEvent) => resize(before + clientX - start)
    edge.addEventListener('pointermove', move)
    edge.addEventListener('lostpointercapture', () => edge.removeEventListener('pointermove', move), { once: true })
  }
  return (
    <span
      role="separator"
      aria-orientation="vertical"
      aria-label={`Width of ${header}`}
      aria-valuenow={width}
      aria-valuemin={48}
      aria-valuemax={WIDEST}
      tabIndex={0}
      className={styles.edge}
      onPointerDown={drag}
      onKeyDown={(event) => {
        if (event.key !== 'ArrowLeft' && event.key !== 'ArrowRight') return
        event.preventDefault()
        event.stopPropagation()
        resize(width + (event.key === 'ArrowLeft' ? -STEP : STEP))
      }}
    />
  )
}
