/** The columns of the list of runs, and which of them fit. */

import { fitting } from '../parts/column'
import { place } from '../place'
import type { Run } from './page'
import type { RunSortKey } from './search'

export type ColumnId =
  | 'name'
  | 'benchmark'
  | 'model'
  | 'agent'
  | 'outcome'
  | 'state'
  | 'owner'
  | 'visibility'
  | 'score'
  | 'interval'
  | 'scale'
  | 'n'
  | 'baseline'
  | 'errors'
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
  /** Whether a run has nothing to say there; an automatic column of which that is so for all runs is left out. */
  empty?: (run: Run) => boolean
}

/** Whose runs are: only servers know. */
const OWNERSHIP: readonly ColumnFacts[] = [
  column('owner', 'By', 'Who started the run', 96, { priority: 6 }),
  column('visibility', 'Visibility', 'Who can see the run', 84, { priority: 10 }),
]

/** All columns in the order in which they stand. */
export const COLUMNS: readonly ColumnFacts[] = [
  column('name', 'Run', 'Name, or benchmark, model and what sets the run apart', 300, {
    sort: 'name',
    grow: 1,
    priority: 1,
  }),
  column('benchmark', 'Benchmark', 'What was played', 140, { sort: 'benchmark' }),
  column('model', 'Model', 'The model that played', 164, { sort: 'model' }),
  column('agent', 'Agent', 'The agent that used the model', 84, { sort: 'agent' }),
  column('state', 'Status', 'State and progress', 126, { sort: 'state' }),
  column('outcome', 'Outcome', 'Episodes passed, not passed, with an error, missing', 132, { priority: 2 }),
  column('score', 'Score', 'Primary metric', 74, { sort: 'score', numeric: true, priority: 1 }),
  column('interval', '95 % interval', 'Interval of the primary metric', 116, { priority: 4 }),
  column('scale', '0 [ floor, ceiling ] 1', 'Score between what built-in agents reach, on a scale for all runs', 134, {
    priority: 7,
    empty: ({ primary }) => primary?.value == null,
  }),
  column('n', 'n', 'Scored episodes, of the planned ones where some are missing', 116, { numeric: true, priority: 5 }),
  column('baseline', 'To baseline', 'Difference to the baseline of the benchmark, over the same tasks', 94, {
    numeric: true,
    priority: 3,
  }),
  column('errors', 'Errors', 'Episodes that ended without a measurement', 66, { numeric: true, priority: 4 }),
  ...(place.mode === 'server' ? OWNERSHIP : []),
  column(
    'published',
    'Published',
    'The best published score for the same unit and the whole split, and the difference to it with the interval of this run',
    184,
    { numeric: true, priority: 9, empty: ({ published }) => published === null },
  ),
  column('cost', 'Cost', 'US dollars', 76, {
    sort: 'cost',
    numeric: true,
    priority: 6,
    empty: ({ usage }) => usage.cost_usd === null,
  }),
  column('tokens', 'Tokens', 'Prompt and completion tokens', 72, { sort: 'tokens', numeric: true }),
  column('duration', 'Duration', 'From start to end, or so far', 88, {
    sort: 'duration',
    numeric: true,
    priority: 8,
  }),
  column('created_at', 'Started', 'When the run started', 108, { sort: 'created_at', numeric: true, priority: 5 }),
  column('attempt', 'Attempt', 'Number of the attempt with exactly these settings', 80, {
    sort: 'attempt',
    numeric: true,
  }),
  column('tags', 'Tags', 'Tags of the run', 120, { priority: 11, empty: ({ tags }) => tags.length === 0 }),
  column('kind', 'Kind', 'Kind of benchmark', 100, {}),
  column('group', 'Group', 'The command that started the run', 264, {}),
  column('id', 'ID', 'Full ID', 290, { sort: 'id' }),
]

/** The ids that name columns, in the order of the table. */
export function readColumns(chosen: readonly string[] | undefined): ColumnId[] {
  return COLUMNS.map((item) => item.id).filter((id) => chosen?.includes(id))
}

/** The columns that may be shown: the chosen ones, which always stay, else those in which a run has something to say. */
export function offeredColumns(chosen: readonly string[] | undefined, runs: readonly Run[] = []): ColumnFacts[] {
  const wanted = new Set<ColumnId>(readColumns(chosen))
  if (wanted.size === 0) {
    return COLUMNS.filter(
      ({ priority, empty }) =>
        priority !== undefined && (empty === undefined || runs.length === 0 || !runs.every((run) => empty(run))),
    )
  }
  return COLUMNS.filter((item) => item.id === 'name' || wanted.has(item.id)).map((item) => ({ ...item, priority: 1 }))
}

/** What is beside the columns in a window: margins of the page, boxes to tick. */
const BESIDE = 96

/** The columns that a window of `width` pixels shows. */
export function columnsAt(width: number, chosen: readonly string[] | undefined, runs: readonly Run[] = []): ColumnId[] {
  const offered = offeredColumns(chosen, runs).map((item) => ({
    ...item,
    key: item.id,
    header: '',
    render: () => null,
  }))
  return readColumns(fitting(offered, Math.max(width - BESIDE, 1)).map((item) => item.key))
}

type Optional = Pick<ColumnFacts, 'sort' | 'priority' | 'empty'> & { grow?: number; numeric?: boolean }

function column(id: ColumnId, title: string, hint: string, width: number, more: Optional): ColumnFacts {
  return { id, title, hint, width, grow: 0, numeric: false, ...more }
}
