import { documentQuery } from '../api/query'
import { PAGE_SIZE } from './page'
import { type RunsSearch, runsQuery } from './search'

/** The query of a page of the list of runs: the first one, or the one at a cursor. */
export function pageQuery(search: RunsSearch, cursor?: string) {
  return documentQuery('/api/runs', { query: { ...runsQuery(search), limit: PAGE_SIZE, cursor } })
}
