/** What is different about runs that execute a rollout. */

import type { Schema } from '../../api/types'
import { isFiltered, type RunSearch, type Tab } from '../search'

/** Whether a run executes a rollout: its benchmark is a dataset, its agent a rollout, its episodes are samples. */
export function isRollout({ kind }: Pick<Schema<'RunSummary'>, 'kind'>): boolean {
  return kind === 'rollout'
}

/** What the episodes of a run are called. */
export function unitOf(run: Pick<Schema<'RunSummary'>, 'kind'>): 'sample' | 'episode' {
  return isRollout(run) ? 'sample' : 'episode'
}

/** The reward from which on a sample passes; null where the run has no such metric. */
export function thresholdOf({ info }: Pick<Schema<'RunDetail'>, 'info'>): number | null {
  const metrics: unknown = info.metrics
  if (!Array.isArray(metrics)) return null
  for (const metric of metrics as unknown[]) {
    if (typeof metric !== 'object' || metric === null) continue
    const { aggregation, threshold, inclusive } = metric as Record<string, unknown>
    if (aggregation === 'pass_rate' && inclusive === true) return typeof threshold === 'number' ? threshold : 0
  }
  return null
}

/** Whether the server keeps what the programs of a run printed, and shows it to the user. */
export function hasOutput({ request }: Pick<Schema<'RunSummary'>, 'request'>): boolean {
  return request?.redacted === false && (request.kind === 'rollout' || request.kind === 'benchmark')
}

/** The tab that is shown: of a rollout the results, or its samples where they are filtered. */
export function shownTab(run: Pick<Schema<'RunSummary'>, 'kind' | 'request'>, search: RunSearch): Tab {
  const tab = search.tab === 'output' && !hasOutput(run) ? undefined : search.tab
  if (!isRollout(run)) return tab === undefined || tab === 'results' || tab === 'samples' ? 'episodes' : tab
  const wanted = tab ?? (isFiltered(search) || search.sort !== undefined ? 'samples' : 'results')
  return wanted === 'episodes' ? 'samples' : wanted
}

/**
 * How the table shows the episodes of a cause. Where no episode failed of it, only their score is missing: then it shows
 * all without a score, for the table cannot tell their causes apart.
 */
export function filterOfCause({ failures }: Pick<Schema<'RunDetail'>, 'failures'>, cause: string): RunSearch {
  return failures.some((group) => group.cause === cause) ? { cause: [cause] } : { outcome: 'missing' }
}
