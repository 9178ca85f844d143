/** What of the Run page lives in its URL. */

import { EPISODE_OUTCOMES, EPISODE_SORT_KEYS, EPISODE_STATES } from '../api/words'
import type { ListSearch } from '../episode/search'
import { keysOf, number, oneOf, someOf, text, texts } from '../search'

const TABS = ['results', 'samples', 'episodes', 'charts', 'configuration', 'output'] as const
export type Tab = (typeof TABS)[number]

export type EpisodeState = keyof typeof EPISODE_STATES
export type Outcome = (typeof EPISODE_OUTCOMES)[number]
type SortKey = (typeof EPISODE_SORT_KEYS)[number]
type EpisodeSort = SortKey | `-${SortKey}`

const SLICE_KEYS = ['value', 'episodes', 'reward', 'pass_rate', 'failed'] as const
export type SliceKey = (typeof SLICE_KEYS)[number]
export type SliceSort = SliceKey | `-${SliceKey}`

/** The state of the page that a person would want to share. What is absent has its default. */
export interface RunSearch {
  tab?: Tab
  state?: EpisodeState[]
  cause?: string[]
  outcome?: Outcome
  low?: number
  high?: number
  /** Digest of a task, to see all its trials. */
  task?: string
  /** A label with its value, `difficulty=hard`. */
  label?: string
  /** Kind of mistake of wrong answers. */
  mistake?: string
  behaviour?: string
  q?: string
  /** What was said in the episodes to list; it is searched for by itself, without the filters. */
  said?: string
  sort?: EpisodeSort
  /** The label by which the results of a rollout are sliced. */
  slice?: string
  /** The order of the slices. */
  slices?: SliceSort
  /** What wrong answers are grouped by; their kind unless named. */
  wrong?: string
  /** The run whose wrong answers they are held against. */
  against?: string
}

/** The part of the search that chooses and orders episodes; the Episode page takes it for "next with this filter". */
export type EpisodeFilter = Omit<RunSearch, 'tab' | 'said' | 'slice' | 'slices' | 'wrong' | 'against'>

const FILTERS = ['state', 'cause', 'outcome', 'low', 'high', 'task', 'label', 'mistake', 'behaviour', 'q'] as const

/** Read search parameters from a URL; invalid ones are ignored. */
export function readRunSearch(raw: Record<string, unknown>): RunSearch {
  const found: RunSearch = {
    tab: oneOf(raw.tab, TABS),
    state: someOf(raw.state, keysOf(EPISODE_STATES)),
    cause: texts(raw.cause),
    outcome: oneOf(raw.outcome, EPISODE_OUTCOMES),
    low: number(raw.low),
    high: number(raw.high),
    task: text(raw.task),
    label: text(raw.label)?.slice(0, 1_000),
    mistake: text(raw.mistake)?.slice(0, 200),
    behaviour: text(raw.behaviour)?.slice(0, 50),
    q: text(raw.q)?.slice(0, 1_000),
    said: text(raw.said)?.slice(0, 1_000),
    sort: readOrder(raw.sort, EPISODE_SORT_KEYS),
    slice: text(raw.slice)?.slice(0, 200),
    slices: readOrder(raw.slices, SLICE_KEYS),
    wrong: text(raw.wrong)?.slice(0, 200),
    against: text(raw.against)?.slice(0, 200),
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
export function episodeFilter(search: RunSearch): EpisodeFilter {
  const { tab: _tab, said: _said, slice: _slice, slices: _slices, wrong: _wrong, against: _against, ...filter } = search
  return compact(filter)
}

/** What the Episode page keeps of the list that one came from; its own `q` searches inside the episode. */
export function listSearch({ q, ...filter }: EpisodeFilter): ListSearch {
  return compact({ ...filter, listq: q })
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
  const { tab, sort, slice, slices, wrong, against } = search
  return compact({ tab, sort, slice, slices, wrong, against })
}

/** The search in another order; a word that nothing is sorted by means the order of the plan. */
export function sorted(search: RunSearch, sort: string): RunSearch {
  return readRunSearch({ ...search, sort })
}

/** The search with one value of a filter set or, when it was set, without it. */
export function toggled(search: RunSearch, filter: 'cause' | 'state', value: string): RunSearch {
  const values: readonly string[] = search[filter] ?? []
  const next = values.includes(value) ? values.filter((item) => item !== value) : [...values, value]
  return readRunSearch({ ...search, [filter]: next })
}

function readOrder<Key extends string>(value: unknown, keys: readonly Key[]): Key | `-${Key}` | undefined {
  const written = text(value) ?? ''
  const key = oneOf(written.replace(/^-/, ''), keys)
  return key === undefined || key === written ? key : `-${key}`
}
