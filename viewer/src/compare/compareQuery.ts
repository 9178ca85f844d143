import { documentQuery } from '../api/query'
import type { CompareSearch } from './CompareSearch'

/** The query of a comparison; one needs two runs or more. */
export function compareQuery({ run = [], metric }: CompareSearch) {
  return documentQuery('/v1/compare', { query: { run, metric } })
}
