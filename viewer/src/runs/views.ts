/** Searches as they are kept in saved views. */
import { readSearch, text, writeSearch } from '../search'
import { compact, type RunsSearch, readRunsSearch } from './search'

/** A search as text, the same for equal searches. */
export function viewText(search: RunsSearch): string {
  const sorted = Object.entries(compact(search)).sort(([one], [other]) => (one < other ? -1 : 1))
  return writeSearch(Object.fromEntries(sorted)).slice(1)
}

/** What a view of one run holds: the run, and what is said in the episodes that are kept as a group of it. */
export interface RunGroup {
  run: string
  said: string
}

/** The group of a run that a view holds, if it holds one. */
export function readGroup(view: string): RunGroup | undefined {
  const raw = readSearch(view)
  const [run, said] = [text(raw.run), text(raw.said)]
  return run === undefined || said === undefined ? undefined : { run, said: said.slice(0, 1_000) }
}

/** The view that holds a group of a run. */
export function groupText({ run, said }: RunGroup): string {
  return writeSearch({ run, said }).slice(1)
}

/** The search of a view; what is not known any more is left out. */
export function readView(text: string): RunsSearch {
  return readRunsSearch(readSearch(text))
}
