/** What a live stream says of a run. */

import type { Schema } from '../api/types'

type RunDetail = Schema<'RunDetail'>

/** A document of the stream: the runs that changed, whole, and the ids of those that are gone. */
interface RunChange {
  runs: Schema<'RunSummary'>[]
  deleted: string[]
}

/** Whether a value that came over a stream is a change of runs. */
export function isRunChange(data: unknown): data is RunChange {
  return typeof data === 'object' && data !== null && 'runs' in data && Array.isArray(data.runs) && 'deleted' in data
}

/** Whether a change is more than moving numbers: the run began, ended, was stopped or deleted. */
export function isTurn(run: RunDetail, change: RunChange): boolean {
  const news = change.runs.find(({ id }) => id === run.id)
  return change.deleted.includes(run.id) || (news !== undefined && news.state !== run.state)
}
