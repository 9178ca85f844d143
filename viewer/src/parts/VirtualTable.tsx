import { type ReactNode, useId } from 'react'
import { type Column, fitting, template } from './column'
import { TableBody } from './TableBody'
import { TableHead } from './TableHead'
import { type Rows, useRows } from './useRows'
import { useTableKeys } from './useTableKeys'
import styles from './VirtualTable.module.css'

/** A table of any length. */
interface VirtualTableProps<Row> {
  /** What the rows are. */
  label: string
  columns: readonly Column<Row>[]
  /** How many rows there are; as many as were loaded, when more come by `onMore`. */
  count: number
  /** The row at a place; undefined while it is on its way. */
  getRow: (index: number) => Row | undefined
  rowKey: (row: Row) => string
  /** Pixels. */
  rowHeight?: number
  /** Pixels; that of a row, but no more than 36, unless given. */
  headHeight?: number
  /** A CSS length; the table is as tall as its rows up to this. */
  maxHeight?: string
  /** Like `-score`; see `Column.sort`. */
  sort?: string
  onSort?: (sort: string) => void
  /** Enter, or a click that hits nothing else. */
  onOpen?: (row: Row, index: number) => void
  /** Keys of the chosen rows; with `onSelect` there is a column of boxes. */
  selected?: ReadonlySet<string>
  onSelect?: (row: Row, chosen: boolean, index: number) => void
  /** Called when the end comes near. */
  onMore?: () => void
  /** Called with the first and last row to have, both included, as they change. */
  onRange?: (first: number, last: number) => void
  /** What stands there when there are no rows. */
  empty?: ReactNode
  /** `j k enter x` work wherever the focus is; for the one main table of a page. */
  shortcuts?: boolean
  /** What a row says over all columns instead of its cells: it heads the rows below it, and cannot be chosen. */
  heading?: (row: Row) => ReactNode
  /** Rows that keys pass over. */
  skip?: (row: Row) => boolean
  /** Further keys for the row that keys stand at. */
  rowKeys?: readonly RowKey<Row>[]
  /** Called with a new width in pixels; columns can be resized when given. */
  onResize?: (key: string, width: number) => void
  /** More for a row's look: `data-mark` on it. */
  mark?: (row: Row) => string | undefined
}

/** A key that does something with the row that keys stand at, on the whole page. */
export interface RowKey<Row> {
  key: string
  label: string
  action: (row: Row) => void
}

const BOX_WIDTH = 40

/** A table that draws only the rows in view: a million of them scroll like ten. */
export function VirtualTable<Row>(props: VirtualTableProps<Row>) {
  const { label, columns, count, getRow, rowKey, rowHeight = 36, maxHeight = '70dvh', sort, onSort } = props
  const { selected, onSelect, onMore, onRange, empty, mark, heading, onResize } = props
  const { headHeight = Math.min(rowHeight, 36) } = props
  const id = useId()
  const rows = useRows({ count, rowHeight, headHeight, onRange, onMore })
  const { scroller, active, first, last } = rows
  const shown = fitting(columns, rows.width - (onSelect ? BOX_WIDTH : 0))
  const tracks = onSelect ? [{ width: BOX_WIDTH }, ...shown] : shown
  const grid = template(tracks)
  const least = tracks.reduce((sum, track) => sum + track.width, 0)
  const { open, toggle, press } = useRowActions(props, rows, rowHeight)

  return (
    <div className={styles.frame}>
      <div
        ref={scroller}
        role="grid"
        aria-label={label}
        aria-rowcount={count + 1}
        aria-colcount={shown.length + (onSelect ? 1 : 0)}
        aria-multiselectable={onSelect ? true : undefined}
        aria-activedescendant={active >= first && active <= last ? `${id}-${active}` : undefined}
        tabIndex={0}
        className={styles.scroller}
        style={{ maxHeight }}
        onScroll={(event) => rows.setTop(event.currentTarget.scrollTop)}
        onKeyDown={press}
      >
        <TableHead
          columns={shown}
          grid={grid}
          least={least}
          height={headHeight}
          boxes={onSelect !== undefined}
          sort={sort}
          onSort={onSort}
          onResize={onResize}
        />
        <TableBody
          id={id}
          rows={rows}
          columns={shown}
          grid={grid}
          least={least}
          rowHeight={rowHeight}
          getRow={getRow}
          chosen={onSelect && ((row: Row) => selected?.has(rowKey(row)) ?? false)}
          mark={mark}
          heading={heading}
          onOpen={open}
          onToggle={toggle}
        />
      </div>
      {count === 0 && empty}
    </div>
  )
}

/** What clicks and keys do to rows, as far as the table is asked for it; never to a row that is not there yet. */
function useRowActions<Row>(props: VirtualTableProps<Row>, rows: Rows, rowHeight: number) {
  const { count, getRow, rowKey, onOpen, selected, onSelect, heading, skip, rowKeys = [], shortcuts = false } = props
  const toggle = (index: number) => {
    const row = getRow(index)
    if (row !== undefined && heading?.(row) === undefined) onSelect?.(row, !selected?.has(rowKey(row)), index)
  }
  const open = (index: number) => {
    const row = getRow(index)
    if (row !== undefined) onOpen?.(row, index)
  }
  const go = (index: number) => {
    const way = index < rows.active ? -1 : 1
    let next = Math.max(0, Math.min(count - 1, index))
    for (let row = getRow(next); row !== undefined && skip?.(row); row = getRow(next)) next += way
    if (next >= 0 && next < count) rows.go(next)
  }
  const actions = { open: onOpen && open, toggle: onSelect && toggle }
  const press = useTableKeys({
    active: rows.active,
    count,
    page: Math.max(1, Math.floor(rows.body / rowHeight) - 1),
    go,
    take: () => rows.scroller.current?.focus({ preventScroll: true }),
    shortcuts,
    keys: rowKeys.map(({ key, label, action }) => ({
      key,
      label,
      action: () => {
        const row = getRow(rows.active)
        if (row !== undefined && heading?.(row) === undefined) action(row)
      },
    })),
    ...actions,
  })
  return { ...actions, press }
}
