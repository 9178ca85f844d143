/** What of the Compare page lives in its URL. */
import { oneOf, text, texts } from '../search'

const SHOWN = ['flipped', 'a', 'b', 'all'] as const
/** Which tasks are listed: those that flipped, those in which the baseline or the other run did better, or all. */
export type Shown = (typeof SHOWN)[number]

/** The state of the page that a person would want to share. What is absent has its default. */
export interface CompareSearch {
  /** A stored comparison of two models, shown while no runs are named. */
  comparison?: string
  /** Ids of runs; the first is the baseline. */
  run?: string[]
  metric?: string
  /** The run that is looked at task by task against the baseline of its benchmark; the first pair by default. */
  against?: string
  tasks?: Shown
}

/** How many runs are compared at most. */
export const MOST_RUNS = 20

/** Read search parameters from a URL; invalid ones are ignored. */
export function readCompareSearch(raw: Record<string, unknown>): CompareSearch {
  return compact({
    comparison: text(raw.comparison),
    run: texts(raw.run)?.slice(0, MOST_RUNS),
    metric: text(raw.metric),
    against: text(raw.against),
    tasks: oneOf(raw.tasks, SHOWN),
  })
}

/** The search with another run at the end. */
export function withRun(search: CompareSearch, id: string): CompareSearch {
  const runs = search.run ?? []
  return runs.includes(id) || runs.length >= MOST_RUNS ? search : { ...search, run: [...runs, id] }
}

/** The search without a run, and without what was chosen of it. */
export function withoutRun(search: CompareSearch, id: string): CompareSearch {
  const against = search.against === id ? undefined : search.against
  return compact({ ...search, against, run: (search.run ?? []).filter((run) => run !== id) })
}

/** The search with a run as the baseline; the others keep their order. */
export function withBaseline(search: CompareSearch, id: string): CompareSearch {
  const against = search.against === id ? undefined : search.against
  return compact({ ...search, against, run: [id, ...(search.run ?? []).filter((run) => run !== id)] })
}

function compact(search: CompareSearch): CompareSearch {
  const kept = Object.entries(search).filter(([, value]) => value !== undefined && value.length > 0)
  return Object.fromEntries(kept)
}
