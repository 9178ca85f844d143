import { documentQuery } from '../api/query'
import type { CompareSearch } from './CompareSearch'

/** The query of a comparison; one needs two runs or more. */
export function compareQuery({ run = [], metric }: CompareSearch) {
  return documentQuery('/api/compare', { query: { run, metric } })
}
