/** What of the Episode page lives in its address. */
import { EVENTS } from '../api/words'
import { index, keysOf, number, oneOf, type RawSearch, text, texts } from '../search'

const VIEWS = ['conversation', 'timeline', 'replay'] as const
export type EpisodeView = (typeof VIEWS)[number]

export const KINDS = keysOf(EVENTS)
export type Kind = keyof typeof EVENTS

/** The list of episodes that the reader came from: its filter and order, for "previous" and "next". */
export interface ListSearch {
  state?: string[]
  cause?: string[]
  outcome?: string
  low?: number
  high?: number
  task?: string
  label?: string
  mistake?: string
  behaviour?: string
  sort?: string
  /** The text that the list was searched for; `q` is what is searched inside the episode. */
  listq?: string
}

/** The step that is shown, how it is shown, what is looked for, the call that is open, and the list behind it. */
export interface EpisodeSearch extends ListSearch {
  step?: number
  q?: string
  kind?: Kind[]
  view?: EpisodeView
  /** Position of the model call whose request and reply are shown. */
  call?: number
}

/** Read the address. */
export function readEpisodeSearch(raw: RawSearch): EpisodeSearch {
  const kinds = (texts(raw.kind) ?? []).flatMap((word) => KINDS.filter((kind) => kind === word))
  const view = oneOf(raw.view, VIEWS)
  return present({
    step: index(raw.step),
    q: text(raw.q)?.slice(0, 1_000),
    kind: kinds.length ? kinds : undefined,
    view,
    call: index(raw.call),
    state: texts(raw.state),
    cause: texts(raw.cause),
    outcome: text(raw.outcome),
    low: number(raw.low),
    high: number(raw.high),
    task: text(raw.task),
    label: text(raw.label)?.slice(0, 1_000),
    mistake: text(raw.mistake)?.slice(0, 200),
    behaviour: text(raw.behaviour)?.slice(0, 50),
    sort: text(raw.sort),
    listq: text(raw.listq)?.slice(0, 1_000),
  })
}

/** Return the part of the address that says which list the reader came from. */
export function listOf(search: EpisodeSearch): ListSearch {
  const { state, cause, outcome, low, high, task, label, mistake, behaviour, sort, listq } = search
  return present({ state, cause, outcome, low, high, task, label, mistake, behaviour, sort, listq })
}

/** Return the list as the API and the Run page are asked for it. */
export function listQuery(search: EpisodeSearch): Omit<ListSearch, 'listq'> & { q?: string } {
  const { listq, ...filter } = listOf(search)
  return present({ ...filter, q: listq })
}

function present<T extends object>(search: T): T {
  return Object.fromEntries(Object.entries(search).filter(([, value]) => value !== undefined)) as T
}
