/** The columns of the list of runs, and which of them fit. */

import type { RunSortKey } from './search'

export type ColumnId =
  | 'name'
  | 'benchmark'
  | 'model'
  | 'agent'
  | 'state'
  | 'score'
  | 'high_score'
  | 'delta'
  | 'cost'
  | 'tokens'
  | 'duration'
  | 'created_at'
  | 'attempt'
  | 'tags'
  | 'kind'
  | 'id'

/** A column: at least `width` pixels wide, growing by `grow` parts of what is left over. */
export interface Column {
  id: ColumnId
  title: string
  /** What a person hovering over the title would like to know. */
  hint: string
  sort?: RunSortKey
  width: number
  grow: number
  numeric: boolean
  /** The automatic choice drops the highest rank first; columns without a rank are shown when chosen only. */
  rank?: number
}

/** All columns in the order in which they stand. */
export const COLUMNS: readonly Column[] = [
  column('name', 'Run', 'Name, or the beginning of the id', 150, { sort: 'name', grow: 2, rank: 0 }),
  column('benchmark', 'Benchmark', 'What was played', 130, { sort: 'benchmark', grow: 2, rank: 3 }),
  column('model', 'Model', 'Who played', 140, { sort: 'model', grow: 3, rank: 1 }),
  column('agent', 'Agent', 'What drove the model', 66, { sort: 'agent', grow: 0.5, rank: 11 }),
  column('state', 'Status', 'How far it is', 122, { sort: 'state', rank: 2 }),
  column('score', 'Score', 'Primary metric with its 95 % interval; n = scored / planned episodes', 196, {
    sort: 'score',
    grow: 1,
    rank: 0,
  }),
  column('high_score', 'Best', 'The best score of any run with the same benchmark content', 70, {
    sort: 'high_score',
    numeric: true,
    rank: 8,
  }),
  column('delta', 'Δ best', 'Score minus the best score of the same benchmark content', 82, {
    sort: 'delta',
    numeric: true,
    rank: 7,
  }),
  column('cost', 'Cost', 'US dollars', 70, { sort: 'cost', numeric: true, rank: 5 }),
  column('tokens', 'Tokens', 'Read and written by the model', 70, { sort: 'tokens', numeric: true, rank: 9 }),
  column('duration', 'Duration', 'From start to end, or until now', 78, { sort: 'duration', numeric: true, rank: 6 }),
  column('created_at', 'Started', 'When the run was started', 92, { sort: 'created_at', numeric: true, rank: 4 }),
  column('attempt', 'Attempt', 'Runs of exactly the same settings, counted', 72, {
    sort: 'attempt',
    numeric: true,
    rank: 10,
  }),
  column('tags', 'Tags', 'Words that people gave it', 120, { grow: 1 }),
  column('kind', 'Kind', 'Where the benchmark comes from', 100, {}),
  column('id', 'Id', 'Full id', 290, {}),
]

/** Below this width of the list each run is a card. */
export const CARD_WIDTH = 680

/** Room that every row needs beside its columns: the box to select it and the padding. */
export const ROW_EXTRA = 52

/** The ids that name columns, in the order of the table. */
export function readColumns(chosen: readonly string[] | undefined): ColumnId[] {
  return COLUMNS.map((item) => item.id).filter((id) => chosen?.includes(id))
}

/** The columns for a list of `width` pixels: the chosen ones, else as many of the ranked ones as fit. */
export function fittingColumns(width: number, chosen: readonly string[] | undefined): Column[] {
  const wanted = new Set<ColumnId>(readColumns(chosen))
  if (wanted.size > 0) return COLUMNS.filter((item) => item.id === 'name' || wanted.has(item.id))
  const ranked = COLUMNS.filter((item) => item.rank !== undefined).sort((a, b) => (a.rank ?? 0) - (b.rank ?? 0))
  const kept = new Set<ColumnId>()
  let room = width - ROW_EXTRA
  for (const item of ranked) {
    room -= item.width
    if (room < 0 && (item.rank ?? 0) > 1) break
    kept.add(item.id)
  }
  return COLUMNS.filter((item) => kept.has(item.id))
}

/** The columns as `grid-template-columns`, behind one for the box that selects the row. */
export function gridTemplate(columns: readonly Column[]): string {
  const widths = columns.map((item) => (item.grow > 0 ? `minmax(${item.width}px, ${item.grow}fr)` : `${item.width}px`))
  return ['32px', ...widths].join(' ')
}

/** The least width at which these columns do not squeeze each other. */
export function leastWidth(columns: readonly Column[]): number {
  return columns.reduce((sum, item) => sum + item.width, ROW_EXTRA)
}

/** The choice after showing or hiding one column; none at all means the automatic choice. */
export function toggledColumn(shown: readonly Column[], id: ColumnId): ColumnId[] {
  const ids = shown.map((item) => item.id)
  const next = ids.includes(id) ? ids.filter((item) => item !== id) : [...ids, id]
  return readColumns(next)
}

type Optional = Pick<Column, 'sort' | 'rank'> & { grow?: number; numeric?: boolean }

function column(id: ColumnId, title: string, hint: string, width: number, more: Optional): Column {
  return { id, title, hint, width, grow: 0, numeric: false, ...more }
}
