/** Columns of a table, and which of them there is room for. */
import type { ReactNode } from 'react'

/** One column of `VirtualTable`. */
export interface Column<Row> {
  key: string
  header: string
  /** More about it, on hover. */
  title?: string
  /** Least width in pixels. */
  width: number
  /** Pixels that resizing leaves at least. */
  least?: number
  /** Share of the room that is left; 0 keeps the width. */
  grow?: number
  align?: 'start' | 'end'
  /** The word that the API sorts by; without one the column cannot be sorted. */
  sort?: string
  /** 1 always stays; columns with the highest number leave first when it gets narrow. */
  priority?: number
  render: (row: Row, index: number) => ReactNode
}

/** Pixels that resizing gives at most. */
export const WIDEST = 900

/** The columns that fit into a width; those with the highest priority number leave first, the last of them before others. */
export function fitting<Row>(columns: readonly Column<Row>[], width: number): Column<Row>[] {
  const kept = [...columns]
  const needed = () => kept.reduce((sum, column) => sum + column.width, 0)
  while (width > 0 && needed() > width) {
    const worst = Math.max(...kept.map((column) => column.priority ?? 1))
    if (worst <= 1) break
    kept.splice(
      kept.findLastIndex((column) => (column.priority ?? 1) === worst),
      1,
    )
  }
  return kept
}

/** The widths as CSS grid has them. */
export function template(columns: readonly { width: number; grow?: number }[]): string {
  return columns.map(({ width, grow = 0 }) => (grow > 0 ? `minmax(${width}px, ${grow}fr)` : `${width}px`)).join(' ')
}

/** Direction of a column under a sort like `-score`, in the words of `aria-sort`. */
export function direction(sort: string | undefined, key: string): 'ascending' | 'descending' | 'none' {
  if (sort === key) return 'ascending'
  return sort === `-${key}` ? 'descending' : 'none'
}

/** The sort after a press on a column: descending first for what is right-aligned (numbers), ascending for words. */
export function pressed(sort: string | undefined, key: string, numeric: boolean): string {
  const now = direction(sort, key)
  if (now === 'none') return numeric ? `-${key}` : key
  return now === 'descending' ? key : `-${key}`
}
