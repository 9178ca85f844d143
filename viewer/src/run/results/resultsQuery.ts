/** The queries of a rollout's results; they are read again with everything else of a run that goes on. */

import { documentQuery } from '../../api/query'

/** The query of the results of a run. */
export function resultsQuery(runId: string) {
  return documentQuery('/api/runs/{run_id}/results', { params: { run_id: runId } })
}

/** The query of the results of parts of a run, by a label. */
export function slicesQuery(runId: string, by: string) {
  return documentQuery('/api/runs/{run_id}/slices', { params: { run_id: runId }, query: { by } })
}
