/** Boards: two-dimensional data, and text that is drawn as a map. */

import { coloursOfWords } from './ansi'
import { tileRows } from './tiles'

type Cell = string
export type Grid = Cell[][]

const LARGEST_SIDE = 80
const LONGEST_CELL = 8

/** Return a list of lists of short values as a grid; null if it is none. One that is `named` a board need not look like one. */
export function gridOf(data: unknown, named = false): Grid | null {
  if (!Array.isArray(data) || data.length < 2 || data.length > LARGEST_SIDE) return null
  const first: unknown = data[0]
  if (typeof first === 'string') return gridOfStrings(data, named)
  if (!Array.isArray(first) || first.length < 2 || first.length > LARGEST_SIDE) return null
  const grid: Grid = []
  for (const row of data as unknown[]) {
    if (!Array.isArray(row) || row.length !== first.length) return null
    const cells = row.map(cellOf)
    if (cells.some((cell) => cell === null)) return null
    grid.push(cells as string[])
  }
  return grid
}

function gridOfStrings(rows: unknown[], named: boolean): Grid | null {
  if (!rows.every((row): row is string => typeof row === 'string')) return null
  const tiles = tileRows(rows)
  if (tiles !== null) return tiles
  if (named) return evenRows(rows)
  if (rows.length < 3) return null
  return isMap(rows) ? rows.map((row) => [...row]) : null
}

/** Rows of the same number of signs as cells; a dot is an empty one. */
function evenRows(rows: readonly string[]): Grid | null {
  const cells = rows.map((row) => [...row].map((sign) => (sign === '·' || sign === '.' ? '' : sign)))
  const width = cells[0]?.length ?? 0
  return width > 1 && width <= LARGEST_SIDE && cells.every((row) => row.length === width) ? cells : null
}

/** Text that is said to be a board: its maps, or all of its lines. */
export function boardText(text: string): Block[] | null {
  const blocks = blocksOf(text)
  if (blocks !== null) return blocks
  const lines = text.trim().split('\n')
  const grid = lines.length > 1 && lines.length <= LARGEST_SIDE ? evenRows(lines) : null
  return grid === null ? null : [{ kind: 'map', grid }]
}

function cellOf(value: unknown): string | null {
  if (value === null) return ''
  if (typeof value === 'boolean') return value ? '✓' : ''
  if (typeof value === 'number') return Number.isInteger(value) ? String(value) : shortNumber(value)
  if (typeof value === 'string' && value.length <= LONGEST_CELL && !value.includes('\n')) return value
  return null
}

function shortNumber(value: number): string {
  const text = String(Number(value.toPrecision(3)))
  return text.length <= LONGEST_CELL ? text : value.toExponential(1)
}

type Block = { kind: 'text'; text: string } | { kind: 'map'; grid: Grid }

/** Return text as maps and what stands between them; null if no part of it is a map. */
export function blocksOf(text: string): Block[] | null {
  // Colours in words stand within lines: a board of them would be torn apart.
  if (text.length > 20_000 || coloursOfWords(text) !== text) return null
  const lines = text.split('\n')
  const blocks: Block[] = []
  let loose: string[] = []
  const close = () => {
    const between = loose.join('\n').replace(/^\n+|\s+$/g, '')
    if (between) blocks.push({ kind: 'text', text: between })
    loose = []
  }
  for (let from = 0; from < lines.length; ) {
    const to = endOfSameLength(lines, from)
    const part = lines.slice(from, to)
    const tiles = tileRows([lines[from] ?? ''])
    if (tiles !== null) {
      const end = endOfTiles(lines, from, tiles[0]?.length ?? 0)
      close()
      blocks.push({ kind: 'map', grid: tileRows(lines.slice(from, end)) ?? tiles })
      from = end
      continue
    }
    if (part.length >= 3 && isMap(part)) {
      close()
      blocks.push({ kind: 'map', grid: part.map((line) => [...line]) })
    } else loose.push(...part)
    from = to
  }
  close()
  return blocks.some((block) => block.kind === 'map') ? blocks : null
}

/** The end of the lines that go on with a board of tiles. */
function endOfTiles(lines: string[], from: number, width: number): number {
  let to = from + 1
  while (to < lines.length && tileRows([lines[from] ?? '', lines[to] ?? ''])?.[1]?.length === width) to += 1
  return to
}

function endOfSameLength(lines: string[], from: number): number {
  const length = [...(lines[from] ?? '')].length
  let to = from + 1
  while (to < lines.length && [...(lines[to] ?? '')].length === length) to += 1
  return to
}

function isMap(rows: string[]): boolean {
  const width = [...(rows[0] ?? '')].length
  if (width < 3 || width > LARGEST_SIDE || rows.length > LARGEST_SIDE) return false
  if (rows.some((row) => [...row].length !== width)) return false
  const all = rows.join('')
  if (/[\p{Ll}]{3,}|[\p{Lu}][\p{Ll}]{2,}|\t/u.test(rows.join('\n')) || /[-+|]{3}.*\|/.test(rows[0] ?? '')) return false
  const kinds = new Set(all)
  return kinds.size >= 2 && kinds.size <= 24 && !/^[\d\s.,-]+$/.test(all)
}

/** Return the places `row * width + column` of cells that differ from the grid before; none if sizes differ. */
export function changes(before: Grid | null | undefined, after: Grid): Set<number> {
  const found = new Set<number>()
  const width = after[0]?.length ?? 0
  if (!before || before.length !== after.length || before[0]?.length !== width) return found
  after.forEach((row, y) => {
    row.forEach((cell, x) => {
      if (before[y]?.[x] !== cell) found.add(y * width + x)
    })
  })
  return found
}

/** Return how a cell is drawn: nothing there, something solid, or a sign worth reading. */
export function toneOf(cell: Cell): 'empty' | 'solid' | 'sign' {
  if (cell === '' || cell === ' ' || cell === '.' || cell === '·' || cell === '_') return 'empty'
  return cell === '#' || cell === '█' || cell === '■' ? 'solid' : 'sign'
}

interface Framed {
  key: string
  grid: Grid
  rest: Record<string, unknown>
}

/** Return the board inside an object, under whatever name, and the object's other fields; null if there is none. */
export function framedGrid(data: unknown, named = false): Framed | null {
  if (data === null || typeof data !== 'object' || Array.isArray(data)) return null
  const entries = Object.entries(data)
  if (entries.length > 40) return null
  for (const [key, value] of entries) {
    const grid = gridOf(value, named) ?? gridInText(value)
    if (!grid) continue
    return { key, grid, rest: Object.fromEntries(entries.filter(([name]) => name !== key)) }
  }
  return null
}

function gridInText(value: unknown): Grid | null {
  if (typeof value !== 'string') return null
  const blocks = blocksOf(value)
  return blocks?.length === 1 && blocks[0]?.kind === 'map' ? blocks[0].grid : null
}
