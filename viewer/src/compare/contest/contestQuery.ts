import { documentQuery } from '../../api/query'

/** The query of a stored comparison of two models. */
export function contestQuery(id: string) {
  return documentQuery('/api/comparisons/{comparison_id}', { params: { comparison_id: id } })
}
