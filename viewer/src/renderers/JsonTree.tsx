import { type KeyboardEvent, useId, useMemo, useState } from 'react'
import { JsonRow } from './JsonRow'
import styles from './json.module.css'
import { firstOpen, openFor, type TreeRow, treeRows } from './tree'
import { useWindow } from './useWindow'

const ROW_HEIGHT = 22
const SHOWN_IN_FLOW = 200

interface JsonTreeProps {
  value: unknown
  highlight?: string
  label?: string
}

/** JSON as a tree that opens and closes; rows are laid out only where they are seen. */
export function JsonTree({ value, highlight = '', label = 'JSON' }: JsonTreeProps) {
  const start = useMemo(() => new Set(['', ...firstOpen(value), ...openFor(value, highlight)]), [value, highlight])
  const [changed, setChanged] = useState<{ start: Set<string>; flipped: Set<string> } | null>(null)
  const flipped = changed?.start === start ? changed.flipped : null
  const open = useMemo(() => (flipped ? flippedOf(start, flipped) : start), [start, flipped])
  const rows = useMemo(() => withoutRoot(treeRows(value, open)), [value, open])
  const [active, setActive] = useState(0)
  const name = useId()
  const windowed = rows.length > SHOWN_IN_FLOW
  const { box, first, end, before, after, scrollTo } = useWindow<HTMLDivElement>(rows.length, ROW_HEIGHT)
  const at = Math.min(active, rows.length - 1)

  const flip = (id: string) => setChanged({ start, flipped: flippedOf(flipped ?? new Set(), new Set([id])) })
  const go = (row: number) => {
    const next = Math.max(0, Math.min(row, rows.length - 1))
    setActive(next)
    if (windowed && (next <= first + 12 || next >= end - 14)) scrollTo(next)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const row = rows[at]
    if (!row || event.ctrlKey || event.metaKey || event.altKey) return
    const next = moved(event.key, rows, at)
    if (next === undefined) return
    event.preventDefault()
    event.stopPropagation()
    if (next === 'flip') flip(row.id)
    else go(next)
  }

  const shown = windowed ? rows.slice(first, end) : rows
  const offset = windowed ? first : 0
  return (
    <div
      ref={box}
      className={windowed ? `${styles.tree} ${styles.windowed}` : styles.tree}
      role="tree"
      aria-label={label}
      aria-activedescendant={`${name}-${at}`}
      tabIndex={0}
      onKeyDown={onKeyDown}
      dir="ltr"
    >
      {windowed && <div style={{ height: before }} />}
      {shown.map((row, index) => (
        <JsonRow
          key={row.id}
          id={`${name}-${offset + index}`}
          row={row}
          active={offset + index === at}
          highlight={highlight}
          onFlip={() => flip(row.id)}
          onChoose={() => setActive(offset + index)}
        />
      ))}
      {windowed && <div style={{ height: after }} />}
    </div>
  )
}

/** What a key does at a row: the row that it goes to, or that it opens or closes this one; undefined when nothing. */
function moved(key: string, rows: readonly TreeRow[], at: number): number | 'flip' | undefined {
  const row = rows[at]
  if (row === undefined) return undefined
  const leaf = row.kind === 'value'
  switch (key) {
    case 'ArrowDown':
      return at + 1
    case 'ArrowUp':
      return at - 1
    case 'Home':
      return 0
    case 'End':
      return rows.length - 1
    case 'ArrowRight':
      return leaf || row.open ? at + 1 : 'flip'
    case 'ArrowLeft':
      return row.open ? 'flip' : rows.findLastIndex((one, place) => place < at && one.depth < row.depth)
    case 'Enter':
      return leaf ? at : 'flip'
    default:
      return undefined
  }
}

/** The outermost braces say nothing: what is inside them is shown, unless there is nothing. */
function withoutRoot(rows: TreeRow[]): TreeRow[] {
  return rows.length > 1 ? rows.slice(1).map((row) => ({ ...row, depth: row.depth - 1 })) : rows
}

/** The places that are in one of both sets. */
function flippedOf(a: ReadonlySet<string>, b: ReadonlySet<string>): Set<string> {
  const found = new Set(a)
  for (const place of b) {
    if (!found.delete(place)) found.add(place)
  }
  return found
}
