import type { MouseEvent, ReactNode } from 'react'
import type { Column } from './column'
import { Skeleton } from './Skeleton'
import styles from './VirtualTable.module.css'

interface TableRowProps<Row> {
  id: string
  index: number
  row: Row | undefined
  columns: readonly Column<Row>[]
  grid: string
  top: number
  height: number
  active: boolean
  /** Whether it is ticked; undefined in tables without boxes. */
  chosen?: boolean
  mark?: string
  heading?: ReactNode
  onPoint: (index: number) => void
  onOpen?: (index: number) => void
  onToggle?: (index: number) => void
}

/** One row of a virtual table; a skeleton while its content is on its way. */
export function TableRow<Row>(props: TableRowProps<Row>) {
  const { id, index, row, columns, grid, top, height, active, chosen, mark, heading, onPoint, onOpen, onToggle } = props
  const press = (event: MouseEvent<HTMLElement>) => {
    onPoint(index)
    const own = event.target instanceof Element && event.target.closest('a, button, input, label, summary')
    const reading = (window.getSelection()?.toString() ?? '') !== ''
    if (!own && !reading) onOpen?.(index)
  }
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the grid serves the keys of all its rows
    <div
      id={id}
      role="row"
      aria-rowindex={index + 2}
      aria-selected={heading === undefined ? chosen : undefined}
      className={styles.row}
      data-active={active || undefined}
      data-opens={onOpen !== undefined || undefined}
      data-mark={mark}
      data-heading={heading !== undefined || undefined}
      style={{ gridTemplateColumns: grid, height, transform: `translateY(${top}px)` }}
      onClick={press}
    >
      {heading !== undefined && (
        <div role="gridcell" aria-colspan={columns.length + (onToggle ? 1 : 0)} className={styles.heading}>
          {heading}
        </div>
      )}
      {heading === undefined && onToggle && (
        <div role="gridcell" className={styles.cell}>
          {row !== undefined && (
            <label className={styles.box}>
              <input type="checkbox" tabIndex={-1} checked={chosen ?? false} onChange={() => onToggle(index)} />
              <span className="hidden-text">Select row {index + 1}</span>
            </label>
          )}
        </div>
      )}
      {heading === undefined &&
        columns.map((column) => (
          <div key={column.key} role="gridcell" className={styles.cell} data-align={column.align}>
            {row === undefined ? <Skeleton width="70%" /> : column.render(row, index)}
          </div>
        ))}
    </div>
  )
}
