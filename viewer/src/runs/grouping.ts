/** Whether runs stand below their benchmarks, and how they are asked for then. */
import type { RunsSearch } from './search'

/** Runs up to which a list is read as a whole: then groups stay where they are while one scrolls. */
export const WHOLE = 500

/** Whether a list of so many runs is read as a whole. */
export function isWhole(total: number | undefined): boolean {
  return total !== undefined && total <= WHOLE
}

/** Whether runs stand below their benchmarks: unless a person decided, in lists that are read as a whole. */
export function isGrouped(search: RunsSearch, total: number | undefined): boolean {
  return search.by === 'benchmark' || (search.by === undefined && isWhole(total))
}

/** The search to ask for: a long list with groups comes in the order of its benchmarks, so that groups only grow. */
export function asked(search: RunsSearch, total: number | undefined): RunsSearch {
  const long = total !== undefined && total > WHOLE
  return long && search.by === 'benchmark' ? { ...search, sort: '-benchmark' } : search
}
