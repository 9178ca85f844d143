/** Tables: lists of objects with the same fields, and separated text. */

export interface Rows {
  columns: string[]
  /** Cells in the order of the columns; undefined where a row lacks the field. */
  rows: unknown[][]
  /** Whether the source has more rows than these. */
  more: boolean
}

const MOST_COLUMNS = 60

/** Return a list of objects as a table; null if the objects have too little in common. */
export function rowsOf(data: unknown, limit = 10_000): Rows | null {
  if (!Array.isArray(data) || data.length < 2) return null
  const columns = new Map<string, number>()
  const sample = data.slice(0, 200) as unknown[]
  for (const row of sample) {
    if (row === null || typeof row !== 'object' || Array.isArray(row)) return null
    for (const key of Object.keys(row)) columns.set(key, (columns.get(key) ?? 0) + 1)
  }
  const names = [...columns.keys()]
  const filled = [...columns.values()].reduce((sum, count) => sum + count, 0)
  if (!names.length || names.length > MOST_COLUMNS || filled < names.length * sample.length * 0.5) return null
  const rows = (data.slice(0, limit) as Record<string, unknown>[]).map((row) => names.map((name) => row?.[name]))
  return { columns: names, rows, more: data.length > limit }
}

/** Return separated text as a table with its first line as names; null if it has less than two columns or rows. */
export function rowsOfText(text: string, separator = ',', limit = 10_000): Rows | null {
  const parsed = parse(text, separator, limit + 1)
  const [columns, ...rows] = parsed.rows
  if (!columns || columns.length < 2 || !rows.length || columns.length > MOST_COLUMNS) return null
  const width = columns.length
  return { columns, rows: rows.map((row) => widened(row, width)), more: parsed.more }
}

function widened(row: string[], width: number): unknown[] {
  if (row.length <= width) return Array.from({ length: width }, (_, index) => row[index])
  return [...row.slice(0, width - 1), row.slice(width - 1).join(',')]
}

/** RFC 4180: fields may be quoted, quotes inside are doubled, quoted fields may hold line feeds. */
function parse(text: string, separator: string, limit: number): { rows: string[][]; more: boolean } {
  const rows: string[][] = []
  let row: string[] = []
  let at = 0
  while (at < text.length && rows.length < limit) {
    const field = text[at] === '"' ? quoted(text, at) : bare(text, at, separator)
    row.push(field.value)
    at = field.end
    if (text[at] === separator) {
      at += 1
      if (at < text.length) continue
      row.push('')
    }
    if (text[at] === '\r') at += 1
    if (text[at] === '\n') at += 1
    if (row.length > 1 || row[0] !== '') rows.push(row)
    row = []
  }
  return { rows, more: at < text.length }
}

function quoted(text: string, from: number): { value: string; end: number } {
  let value = ''
  let at = from + 1
  for (;;) {
    const end = text.indexOf('"', at)
    if (end < 0) return { value: value + text.slice(at), end: text.length }
    value += text.slice(at, end)
    if (text[end + 1] !== '"') return rest(text, end + 1, value)
    value += '"'
    at = end + 2
  }
}

/** What stands between a closing quote and the separator belongs to the field. */
function rest(text: string, from: number, value: string): { value: string; end: number } {
  let end = from
  while (end < text.length && !',\t;|\r\n'.includes(text[end] ?? '')) end += 1
  return { value: value + text.slice(from, end), end }
}

function bare(text: string, from: number, separator: string): { value: string; end: number } {
  let end = from
  while (end < text.length && text[end] !== separator && text[end] !== '\n' && text[end] !== '\r') end += 1
  return { value: text.slice(from, end), end }
}
