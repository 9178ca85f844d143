/** What of the Run page lives in its URL. */

export const TABS = ['episodes', 'charts', 'configuration'] as const
export type Tab = (typeof TABS)[number]

export const EPISODE_STATES = [
  'completed',
  'truncated',
  'timeout',
  'failed',
  'running',
  'pending',
  'cancelled',
] as const
export type EpisodeState = (typeof EPISODE_STATES)[number]

export const OUTCOMES = ['scored', 'worst', 'missing'] as const
export type Outcome = (typeof OUTCOMES)[number]

export const SORT_KEYS = ['index', 'score', 'reward', 'steps', 'tokens', 'cost', 'duration', 'started_at'] as const
export type SortKey = (typeof SORT_KEYS)[number]
export type EpisodeSort = SortKey | `-${SortKey}`

/** The state of the page that a person would want to share. What is absent has its default. */
export interface RunSearch {
  tab?: Tab
  state?: EpisodeState[]
  cause?: string[]
  outcome?: Outcome
  low?: number
  high?: number
  q?: string
  sort?: EpisodeSort
}

/** The part of the search that chooses and orders episodes; the Episode page takes it for "next with this filter". */
export type EpisodeFilter = Omit<RunSearch, 'tab'>

const FILTERS = ['state', 'cause', 'outcome', 'low', 'high', 'q'] as const

/** Read search parameters from a URL that anybody may have written; what cannot be understood is left out. */
export function readRunSearch(raw: Record<string, unknown>): RunSearch {
  const found: RunSearch = {
    tab: chosen(TABS, raw.tab),
    state: several(raw.state).filter((value): value is EpisodeState => chosen(EPISODE_STATES, value) !== undefined),
    cause: several(raw.cause),
    outcome: chosen(OUTCOMES, raw.outcome),
    low: finite(raw.low),
    high: finite(raw.high),
    q: words(raw.q),
    sort: readSort(raw.sort),
  }
  if (found.tab === 'episodes') found.tab = undefined
  if (found.sort === 'index') found.sort = undefined
  return compact(found)
}

/** The search without what is absent or empty, so that equal states have equal URLs. */
export function compact<T extends object>(search: T): T {
  const kept = Object.entries(search).filter(
    ([, value]) => value !== undefined && value !== '' && !(Array.isArray(value) && value.length === 0),
  )
  return Object.fromEntries(kept) as T
}

/** Only what filters and orders episodes. */
export function episodeFilter({ tab: _tab, ...filter }: RunSearch): EpisodeFilter {
  return compact(filter)
}

/** Whether any filter is set; an order is none. */
export function isFiltered(search: RunSearch): boolean {
  return FILTERS.some((name) => {
    const value = search[name]
    return value !== undefined && !(Array.isArray(value) && value.length === 0)
  })
}

/** Whether the table may be read by its place in the plan: no filter, in the order of the plan. */
export function isPlanOrder(search: RunSearch): boolean {
  return !isFiltered(search) && (search.sort ?? 'index') === 'index'
}

/** The search without its filters. */
export function unfiltered(search: RunSearch): RunSearch {
  return compact({ tab: search.tab, sort: search.sort })
}

/** The order after a click on a column: biggest first where that is what people look for, then the other way round. */
export function nextSort(current: EpisodeSort | undefined, key: SortKey): EpisodeSort | undefined {
  const first: EpisodeSort = key === 'index' || key === 'score' || key === 'reward' ? key : `-${key}`
  const second: EpisodeSort = first === key ? `-${key}` : key
  const next = current === first ? second : first
  if ((current ?? 'index') === 'index' && key === 'index') return '-index'
  return next === 'index' ? undefined : next
}

function readSort(value: unknown): EpisodeSort | undefined {
  if (typeof value !== 'string') return undefined
  const key = chosen(SORT_KEYS, value.replace(/^-/, ''))
  if (key === undefined) return undefined
  return value.startsWith('-') ? `-${key}` : key
}

function chosen<T extends string>(known: readonly T[], value: unknown): T | undefined {
  return known.find((word) => word === value)
}

function several(value: unknown): string[] {
  const values: unknown[] = Array.isArray(value) ? value : [value]
  return values.filter((item): item is string => typeof item === 'string' && item !== '')
}

function finite(value: unknown): number | undefined {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined
}

/** Text that looks like a number reaches us as one, because URLs do not tell them apart. */
function words(value: unknown): string | undefined {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  return typeof value === 'string' && value !== '' ? value.slice(0, 1_000) : undefined
}
