/** What of the Runs page lives in its URL. */
import type { Schema } from '../api/types'
import { RUN_FILTER_STATES, RUN_SORT_KEYS, WHOSE } from '../api/words'
import { oneOf, someOf, text, texts } from '../search'

export type RunState = (typeof RUN_FILTER_STATES)[number]
export type RunSortKey = (typeof RUN_SORT_KEYS)[number]
export type RunSort = RunSortKey | `-${RunSortKey}`
export const DEFAULT_SORT: RunSort = '-created_at'

/** Columns that are filtered by their values. */
const FILTERS = [
  ...(['state', 'benchmark', 'model', 'agent', 'kind', 'tag', 'group'] as const),
  ...(['configuration', 'branch', 'creator', 'dataset'] as const),
] as const
export type RunFilter = (typeof FILTERS)[number]

/** Of what one sees of a server: one's own runs, those of one's teams, public ones. */
export type Whose = (typeof WHOSE)[number]

/** The state of the page that a person would want to share. What is absent has its default. */
export interface RunsSearch {
  whose?: Whose
  state?: RunState[]
  benchmark?: string[]
  model?: string[]
  agent?: string[]
  kind?: string[]
  tag?: string[]
  group?: string[]
  /** On a server: the id of a workspace, paths of configurations, branches, user names, ids of datasets. */
  workspace?: string
  configuration?: string[]
  branch?: string[]
  creator?: string[]
  dataset?: string[]
  q?: string
  sort?: RunSort
  /** Columns that are shown instead of the automatic choice. */
  columns?: string[]
  /** Whether attempts of the same run are folded into the newest one. */
  attempts?: 'folded'
  /** Whether runs stand below the benchmark that they are of; unless given, in lists that are read as a whole. */
  by?: 'benchmark' | 'none'
  /** Whether runs of built-in agents are shown; unless given, where there are no others. */
  builtin?: 'shown' | 'hidden'
  /** Runs that others of their benchmark are compared with, instead of the best one. */
  baseline?: string[]
  view?: 'matrix'
  /** Height of rows. */
  rows?: 'roomy'
  /** Widths of columns that were changed: `score:90`. */
  width?: string[]
}

/** Read search parameters from a URL; invalid ones are ignored. */
export function readRunsSearch(raw: Record<string, unknown>): RunsSearch {
  const sort = readSort(raw.sort)
  return compact({
    whose: oneOf(raw.whose, WHOSE),
    state: someOf(raw.state, RUN_FILTER_STATES),
    benchmark: texts(raw.benchmark),
    model: texts(raw.model),
    agent: texts(raw.agent),
    kind: texts(raw.kind),
    tag: texts(raw.tag),
    group: texts(raw.group),
    workspace: text(raw.workspace)?.slice(0, 200),
    configuration: texts(raw.configuration),
    branch: texts(raw.branch),
    creator: texts(raw.creator),
    dataset: texts(raw.dataset),
    q: text(raw.q)?.slice(0, 1_000),
    sort: sort === DEFAULT_SORT ? undefined : sort,
    columns: texts(raw.columns),
    attempts: oneOf(raw.attempts, ['folded'] as const),
    by: oneOf(raw.by, ['benchmark', 'none'] as const),
    builtin: oneOf(raw.builtin, ['shown', 'hidden'] as const),
    baseline: texts(raw.baseline)?.slice(0, 20),
    view: oneOf(raw.view, ['matrix'] as const),
    rows: oneOf(raw.rows, ['roomy'] as const),
    width: texts(raw.width),
  })
}

/** The search without what is absent or empty, so that equal states have equal URLs. */
export function compact<T extends object>(search: T): T {
  const kept = Object.entries(search).filter(
    ([, value]) => value !== undefined && value !== '' && !(Array.isArray(value) && value.length === 0),
  )
  return Object.fromEntries(kept) as T
}

/** The query of `/api/runs` for a page of this search. */
export function runsQuery(search: RunsSearch) {
  const { columns: _columns, attempts: _attempts, by: _by, builtin, baseline: _baseline, ...more } = search
  const { view: _view, rows: _rows, width: _width, ...query } = more
  return { ...query, sort: search.sort ?? DEFAULT_SORT, ...(builtin === 'hidden' ? { builtin: false } : {}) }
}

/** A filter that is set: one value of one column. */
export interface ActiveFilter {
  filter: RunFilter | 'q' | 'whose' | 'workspace'
  value: string
}

/** The filters that are set, in the order of the toolbar. */
export function activeFilters(search: RunsSearch): ActiveFilter[] {
  const set: ActiveFilter[] = FILTERS.flatMap((filter) => (search[filter] ?? []).map((value) => ({ filter, value })))
  if (search.workspace) set.unshift({ filter: 'workspace', value: search.workspace })
  if (search.whose) set.unshift({ filter: 'whose', value: search.whose })
  return search.q ? [{ filter: 'q', value: search.q }, ...set] : set
}

/** The search with one value of a filter set or, when it was, unset. */
export function toggled(search: RunsSearch, filter: ActiveFilter['filter'], value: string): RunsSearch {
  if (filter === 'whose' || filter === 'workspace') return compact({ ...search, [filter]: undefined })
  if (filter === 'q') return compact({ ...search, q: search.q === value ? undefined : value })
  const values: string[] = search[filter] ?? []
  const next = values.includes(value) ? values.filter((item) => item !== value) : [...values, value]
  return compact({ ...search, [filter]: next })
}

/** The models of built-in agents: floor and ceiling of a benchmark. */
export const BUILTIN = /^builtin\/(random|empty|oracle)$/

/** What the filters look at in a run. */
type Filtered = Record<
  'id' | 'name' | 'state' | 'benchmark' | 'benchmark_title' | 'model' | 'agent' | 'kind',
  string
> & {
  tags: readonly string[]
  group_id: string | null
  mine: boolean | null
  team_id: string | null
  workspace_id: string | null
  visibility: string | null
  owner: string | null
  request: Pick<Schema<'RunRequestDocument'>, 'evaluation'> | null
}

/** Whether a run that the server has not sorted in yet would be in the list. */
export function matches(run: Filtered, search: RunsSearch): boolean {
  const { id, name, state, benchmark, benchmark_title, model, agent, kind, tags, group_id } = run
  const evaluation = run.request?.evaluation ?? null
  const allowed: [readonly string[] | undefined, readonly (string | null)[]][] = [
    [search.state, [state]],
    [search.benchmark, [benchmark]],
    [search.model, [model]],
    [search.agent, [agent]],
    [search.kind, [kind]],
    [search.tag, tags],
    [search.group, [group_id]],
    [search.configuration, [evaluation?.configuration ?? null]],
    [search.branch, [evaluation?.branch ?? null]],
    [search.creator, [run.owner]],
    [search.dataset, [evaluation?.dataset_id ?? null]],
  ]
  if (!allowed.every(([wanted, values]) => wanted === undefined || wanted.some((one) => values.includes(one))))
    return false
  if (search.builtin === 'hidden' && BUILTIN.test(model)) return false
  if (search.workspace !== undefined && run.workspace_id !== search.workspace) return false
  if (search.whose === 'mine' && run.mine !== true) return false
  if (search.whose === 'team' && run.team_id === null) return false
  if (search.whose === 'workspace' && run.workspace_id === null) return false
  if (
    search.whose === 'public' &&
    (run.workspace_id !== null || run.visibility !== 'gallery_public' || state !== 'finished')
  )
    return false
  const text = [id, name, benchmark, benchmark_title, model, agent, ...tags].join(' ').toLowerCase()
  return (search.q ?? '')
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word))
}

/** The search without its filters; order and columns stay. */
export function unfiltered(search: RunsSearch): RunsSearch {
  const { sort, columns, attempts, by, builtin, baseline, view, rows, width } = search
  return compact({ sort, columns, attempts, by, builtin, baseline, view, rows, width })
}

/** The order after a click on a column: words from A, numbers from the biggest, then the other way round. */
export function nextSort(current: RunSort | undefined, key: RunSortKey): RunSort | undefined {
  const first: RunSort = ['name', 'benchmark', 'model', 'agent', 'state', 'id'].includes(key) ? key : `-${key}`
  const second: RunSort = first === key ? `-${key}` : key
  const next = (current ?? DEFAULT_SORT) === first ? second : first
  return next === DEFAULT_SORT ? undefined : next
}

/** The direction in which a column is sorted, in the words of `aria-sort`. */
export function direction(current: RunSort | undefined, key: RunSortKey): 'ascending' | 'descending' | 'none' {
  const sort = current ?? DEFAULT_SORT
  if (sort === key) return 'ascending'
  return sort === `-${key}` ? 'descending' : 'none'
}

function readSort(value: unknown): RunSort | undefined {
  const written = text(value)
  const key = oneOf(written?.replace(/^-/, ''), RUN_SORT_KEYS)
  return key && (written?.startsWith('-') ? `-${key}` : key)
}
