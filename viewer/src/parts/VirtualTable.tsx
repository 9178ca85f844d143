import { type ReactNode, startTransition, useCallback, useEffect, useId, useRef, useState } from 'react'
import { type Column, fitting, template } from './column'
import { TableHead } from './TableHead'
import { TableRow } from './TableRow'
import { useSize } from './useSize'
import { useTableKeys } from './useTableKeys'
import styles from './VirtualTable.module.css'
import { drawn, reveal, view } from './windowing'

/** A table of any length. */
export interface VirtualTableProps<Row> {
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
  /** More for a row's look: `data-mark` on it. */
  mark?: (row: Row) => string | undefined
}

const BOX_WIDTH = 40
const NEAR_END = 30

/** A table that draws only the rows in view: a million of them scroll like ten. */
export function VirtualTable<Row>(props: VirtualTableProps<Row>) {
  const { label, columns, count, getRow, rowKey, rowHeight = 36, maxHeight = '70dvh', sort, onSort } = props
  const { onOpen, selected, onSelect, onMore, onRange, empty, shortcuts = false, mark } = props
  const { headHeight = Math.min(rowHeight, 36) } = props
  const scroller = useRef<HTMLDivElement>(null)
  const id = useId()
  const { width, height } = useSize(scroller)
  const [top, setTop] = useState(0)
  const [active, setActive] = useState(-1)
  const shown = fitting(columns, width - (onSelect ? BOX_WIDTH : 0))
  const tracks = onSelect ? [{ width: BOX_WIDTH }, ...shown] : shown
  const grid = template(tracks)
  const least = tracks.reduce((sum, track) => sum + track.width, 0)
  const body = Math.max(0, height - headHeight)
  const { first, last, height: tall, offset } = view(count, rowHeight, top, body)
  const slots = drawn(rowHeight, body)

  // Telling may lag behind drawing: React takes a chain of urgent updates, as fast scrolling makes one, for an endless loop.
  useEffect(() => startTransition(() => onRange?.(first, last)), [onRange, first, last])
  useEffect(() => {
    if (count > 0 && last >= count - NEAR_END) onMore?.()
  }, [onMore, last, count])
  useEffect(() => setActive((at) => Math.min(at, count - 1)), [count])

  const go = useCallback(
    (index: number) => {
      const target = scroller.current
      if (!target || count === 0) return
      const next = Math.max(0, Math.min(count - 1, index))
      setActive(next)
      target.scrollTop = reveal(next, count, rowHeight, target.scrollTop, target.clientHeight - headHeight)
      // The row is in the table's view now; a table that reaches out of the window must come into it as well.
      target.scrollIntoView?.({ block: 'nearest' })
    },
    [count, rowHeight, headHeight],
  )
  const toggle = (index: number) => {
    const row = getRow(index)
    if (row !== undefined) onSelect?.(row, !selected?.has(rowKey(row)), index)
  }
  const open = (index: number) => {
    const row = getRow(index)
    if (row !== undefined) onOpen?.(row, index)
  }
  const press = useTableKeys({
    active,
    count,
    page: Math.max(1, Math.floor(body / rowHeight) - 1),
    go,
    take: () => scroller.current?.focus({ preventScroll: true }),
    open: onOpen && open,
    toggle: onSelect && toggle,
    shortcuts,
  })

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
        onScroll={(event) => setTop(event.currentTarget.scrollTop)}
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
        />
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
                columns={shown}
                grid={grid}
                top={offset + at * rowHeight}
                height={rowHeight}
                active={index === active}
                chosen={row !== undefined && onSelect ? (selected?.has(rowKey(row)) ?? false) : undefined}
                mark={row === undefined ? undefined : mark?.(row)}
                onPoint={setActive}
                onOpen={onOpen && open}
                onToggle={onSelect && toggle}
              />
            )
          })}
        </div>
      </div>
      {count === 0 && empty}
    </div>
  )
}
