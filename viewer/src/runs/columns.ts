/** The columns of the list of runs, and which of them fit. */

import { fitting } from '../parts/column'
import { place } from '../place'
import type { RunSortKey } from './search'

export type ColumnId =
  | 'name'
  | 'benchmark'
  | 'model'
  | 'agent'
  | 'state'
  | 'owner'
  | 'visibility'
  | 'score'
  | 'published'
  | 'cost'
  | 'tokens'
  | 'duration'
  | 'created_at'
  | 'attempt'
  | 'tags'
  | 'kind'
  | 'group'
  | 'id'

/** A column: at least `width` pixels wide, growing by `grow` parts of what is left over. */
interface ColumnFacts {
  id: ColumnId
  title: string
  /** What a person hovering over the title would like to know. */
  hint: string
  sort?: RunSortKey
  width: number
  grow: number
  numeric: boolean
  /** Of the automatic choice the highest leaves first; columns without one are shown when chosen only. */
  priority?: number
}

/** Whose runs are: only servers know. */
const OWNERSHIP: readonly ColumnFacts[] = [
  column('owner', 'By', 'Who started the run', 96, { priority: 6 }),
  column('visibility', 'Visibility', 'Who can see the run', 84, { priority: 8 }),
]

/** All columns in the order in which they stand. */
export const COLUMNS: readonly ColumnFacts[] = [
  column('name', 'Run', 'Name, or the start of the ID', 156, { sort: 'name', grow: 2, priority: 1 }),
  column('benchmark', 'Benchmark', 'What was played', 124, { sort: 'benchmark', grow: 2, priority: 4 }),
  column('model', 'Model', 'The model that played', 164, { sort: 'model', grow: 3, priority: 2 }),
  column('agent', 'Agent', 'The agent that used the model', 84, { sort: 'agent', priority: 12 }),
  column('state', 'Status', 'State and progress', 126, { sort: 'state', priority: 3 }),
  column('score', 'Score', 'Primary metric with its 95% interval; n = scored / planned episodes', 224, {
    sort: 'score',
    grow: 1,
    priority: 1,
  }),
  ...(place.mode === 'server' ? OWNERSHIP : []),
  column(
    'published',
    'Published',
    'The best published score for the same unit and the whole split, and the difference to it with the interval of this run',
    184,
    { numeric: true },
  ),
  column('cost', 'Cost', 'US dollars', 86, { sort: 'cost', numeric: true, priority: 6 }),
  column('tokens', 'Tokens', 'Prompt and completion tokens', 72, { sort: 'tokens', numeric: true, priority: 10 }),
  column('duration', 'Duration', 'From start to end, or so far', 84, {
    sort: 'duration',
    numeric: true,
    priority: 7,
  }),
  column('created_at', 'Started', 'When the run started', 112, { sort: 'created_at', numeric: true, priority: 5 }),
  column('attempt', 'Attempt', 'Number of the attempt with exactly these settings', 80, {
    sort: 'attempt',
    numeric: true,
    priority: 11,
  }),
  column('tags', 'Tags', 'Tags of the run', 120, { grow: 1 }),
  column('kind', 'Kind', 'Kind of benchmark', 100, {}),
  column('group', 'Group', 'The command that started the run', 264, {}),
  column('id', 'ID', 'Full ID', 290, { sort: 'id' }),
]

/** The priority of published scores where there are some: above tokens and attempts. */
const PUBLISHED = 9

/** The ids that name columns, in the order of the table. */
export function readColumns(chosen: readonly string[] | undefined): ColumnId[] {
  return COLUMNS.map((item) => item.id).filter((id) => chosen?.includes(id))
}

/**
 * The columns that may be shown: the chosen ones, which always stay, else those of the automatic choice. `published`
 * tells whether a published score is known of any run: then it is among these.
 */
export function offeredColumns(chosen: readonly string[] | undefined, published = false): ColumnFacts[] {
  const wanted = new Set<ColumnId>(readColumns(chosen))
  if (wanted.size === 0) {
    const offered = published
      ? COLUMNS.map((item) => (item.id === 'published' ? { ...item, priority: PUBLISHED } : item))
      : COLUMNS
    return offered.filter((item) => item.priority !== undefined)
  }
  return COLUMNS.filter((item) => item.id === 'name' || wanted.has(item.id)).map((item) => ({ ...item, priority: 1 }))
}

/** What is beside the columns in a window: margins of the page, boxes to tick. */
const BESIDE = 96

/** The columns that a window of `width` pixels shows. */
export function columnsAt(width: number, chosen: readonly string[] | undefined): ColumnId[] {
  const offered = offeredColumns(chosen).map((item) => ({ ...item, key: item.id, header: '', render: () => null }))
  return readColumns(fitting(offered, Math.max(width - BESIDE, 1)).map((item) => item.key))
}

type Optional = Pick<ColumnFacts, 'sort' | 'priority'> & { grow?: number; numeric?: boolean }

function column(id: ColumnId, title: string, hint: string, width: number, more: Optional): ColumnFacts {
  return { id, title, hint, width, grow: 0, numeric: false, ...more }
}
