/** Searches as they are kept in saved views. */
import { readSearch, writeSearch } from '../search'
import { compact, type RunsSearch, readRunsSearch } from './search'

/** A search as text, the same for equal searches. */
export function viewText(search: RunsSearch): string {
  const sorted = Object.entries(compact(search)).sort(([one], [other]) => (one < other ? -1 : 1))
  return writeSearch(Object.fromEntries(sorted)).slice(1)
}

/** The search of a view; what is not known any more is left out. */
export function readView(text: string): RunsSearch {
  return readRunsSearch(readSearch(text))
}
