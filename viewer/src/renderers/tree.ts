/** JSON as a tree of rows that are made only where they are open. */

import { isObject } from './talk'

type Path = (string | number)[]

export interface TreeRow {
  path: Path
  /** The path as text; the key of the row. */
  id: string
  depth: number
  label: string
  kind: 'object' | 'list' | 'value' | 'group' | 'more'
  value: unknown
  /** How many entries an object, list or group has. */
  size: number
  open: boolean
}

const GROUP = 100

/** Return the rows of a value with the given places open. Lists of more than 100 entries are shown in groups. */
export function treeRows(value: unknown, open: ReadonlySet<string>, limit = 50_000): TreeRow[] {
  const rows: TreeRow[] = []
  visit(rows, { path: [], label: '', value, depth: 0 }, open, limit)
  return rows
}

interface Place {
  path: Path
  label: string
  value: unknown
  depth: number
}

function visit(rows: TreeRow[], place: Place, open: ReadonlySet<string>, limit: number): void {
  if (rows.length >= limit) return
  const { path, label, value, depth } = place
  const id = pathText(path)
  const entries = sizeOf(value)
  const kind = Array.isArray(value) ? 'list' : isObject(value) ? 'object' : 'value'
  const isOpen = kind !== 'value' && open.has(id)
  rows.push({ path, id, depth, label, kind, value, size: entries, open: isOpen })
  if (!isOpen) return
  if (entries > GROUP) groups(rows, place, entries, open, limit)
  else children(rows, place, 0, entries, depth + 1, open, limit)
}

function groups(rows: TreeRow[], place: Place, entries: number, open: ReadonlySet<string>, limit: number): void {
  for (let from = 0; from < entries && rows.length < limit; from += GROUP) {
    const to = Math.min(from + GROUP, entries)
    const id = groupId(place.path, from)
    const isOpen = open.has(id)
    const label = `${from} … ${to - 1}`
    const depth = place.depth + 1
    rows.push({ path: place.path, id, depth, label, kind: 'group', value: undefined, size: to - from, open: isOpen })
    if (isOpen) children(rows, place, from, to, depth + 1, open, limit)
  }
}

function children(
  rows: TreeRow[],
  place: Place,
  from: number,
  to: number,
  depth: number,
  open: ReadonlySet<string>,
  limit: number,
): void {
  const { value, path } = place
  if (Array.isArray(value)) {
    for (let n = from; n < to; n++)
      visit(rows, { path: [...path, n], label: String(n), value: value[n], depth }, open, limit)
    return
  }
  const fields = Object.entries(value as Record<string, unknown>).slice(from, to)
  for (const [key, inner] of fields) visit(rows, { path: [...path, key], label: key, value: inner, depth }, open, limit)
}

/** Return the places that are open at first: everything near the root while it stays within `budget` rows. */
export function firstOpen(value: unknown, budget = 30, depth = 3): Set<string> {
  const open = new Set<string>()
  let left = budget
  let level: { path: Path; value: unknown }[] = [{ path: [], value }]
  for (let n = 0; n < depth && level.length; n++) {
    const next: { path: Path; value: unknown }[] = []
    for (const place of level) {
      const size = sizeOf(place.value)
      if (!size || Math.ceil(size > GROUP ? size / GROUP : size) > left) continue
      left -= size > GROUP ? Math.ceil(size / GROUP) : size
      open.add(pathText(place.path))
      if (size <= GROUP)
        next.push(...entriesOf(place.value).map(([key, inner]) => ({ path: [...place.path, key], value: inner })))
    }
    level = next
  }
  return open
}

/** Return the places to open so that every key or value with `text` in it is seen; looks at `limit` values at most. */
export function openFor(value: unknown, text: string, limit = 20_000): Set<string> {
  const open = new Set<string>()
  const wanted = text.toLowerCase()
  let left = limit
  const look = (inner: unknown, path: Path, key: string): boolean => {
    left -= 1
    if (left < 0) return false
    let found = key.toLowerCase().includes(wanted)
    if (inner === null || typeof inner !== 'object') return found || String(inner).toLowerCase().includes(wanted)
    let place = 0
    const grouped = sizeOf(inner) > GROUP
    for (const [name, next] of entriesOf(inner)) {
      if (look(next, [...path, name], String(name))) {
        found = true
        open.add(pathText(path))
        if (grouped) open.add(groupId(path, Math.floor(place / GROUP) * GROUP))
      }
      place += 1
    }
    return found
  }
  if (wanted) look(value, [], '')
  return open
}

/** Return a path as text: `board[0].name`, with quoted keys where they need it. */
export function pathText(path: Path): string {
  return path
    .map((key, n) => {
      if (typeof key === 'number') return `[${key}]`
      if (!/^[A-Za-z_$][\w$]*$/.test(key)) return `[${JSON.stringify(key)}]`
      return n ? `.${key}` : key
    })
    .join('')
}

function groupId(path: Path, from: number): string {
  return `${pathText(path)}\u0000${from}`
}

function entriesOf(value: unknown): [string | number, unknown][] {
  if (Array.isArray(value)) return value.map((inner, n): [number, unknown] => [n, inner])
  return isObject(value) ? Object.entries(value) : []
}

function sizeOf(value: unknown): number {
  if (Array.isArray(value)) return value.length
  return isObject(value) ? Object.keys(value).length : 0
}
