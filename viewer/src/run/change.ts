/** What a live stream changes in the documents of a run. */

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

/** The run with what the stream says of it; its primary metric is also one of its metrics. */
export function changedRun(run: RunDetail, change: RunChange): RunDetail {
  const news = change.runs.find(({ id }) => id === run.id)
  if (news === undefined) return run
  const { primary } = news
  const metrics = primary === null ? run.metrics : run.metrics.map((one) => (one.name === primary.name ? primary : one))
  return { ...run, ...news, metrics }
}

/** Whether a change is more than moving numbers: the run began, ended, was stopped or deleted. */
export function isTurn(run: RunDetail, change: RunChange): boolean {
  const news = change.runs.find(({ id }) => id === run.id)
  return change.deleted.includes(run.id) || (news !== undefined && news.state !== run.state)
}
