/** The queries of a run's wrong answers; they are read again with everything else of a run that goes on. */

import { documentQuery } from '../../api/query'

/** What wrong answers are grouped by, beside the labels of their tasks. */
export const GROUPINGS = [
  { value: 'mistake', label: 'cause' },
  { value: 'why', label: 'reason' },
  { value: 'answer', label: 'answer given' },
  { value: 'behaviour', label: 'behaviour' },
  { value: 'trial', label: 'trial' },
] as const

/** The query of the wrong answers of a run by one field, beside another run if one is named. */
export function wrongQuery(runId: string, by: string, against?: string) {
  const query = against === undefined ? { by } : { by, against }
  return documentQuery('/api/runs/{run_id}/wrong-answers', { params: { run_id: runId }, query })
}
