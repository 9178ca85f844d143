/** What went wrong in a run. */

import type { Schema } from '../api/types'
import { count } from '../format'
import { isGoing } from './headline'
import { unitOf } from './results/rollout'

type FailureGroup = Schema<'FailureGroup'>
type Metric = Schema<'MetricDocument'>

/** What stands among the missing without being trouble: what was not played yet, and what a grader left out. */
const NO_TROUBLE = ['not_run', 'skipped']

/** One cause of trouble in a run: how many episodes, whether they count, and the first of them. */
export interface Trouble {
  cause: string
  count: number
  /** `worst`: counted as the worst value; `missing`: left out of the score; `open`: still pending, so not counted. */
  effect: 'worst' | 'missing' | 'open'
  example?: { episode: string; task: string; message: string }
}

/**
 * What went wrong in a run, most frequent first: failed episodes by cause, and values that are missing although their
 * episode did not fail; with what was said of the first of each. Episodes that were not played yet are no trouble; progress shows them.
 */
export function troubles(
  failures: readonly FailureGroup[],
  primary: Metric | null,
  ungraded: readonly Schema<'Ungraded'>[] = [],
): Trouble[] {
  const found: Trouble[] = failures.map((group) => ({
    cause: group.cause,
    count: group.count,
    effect: group.valid ? 'worst' : 'missing',
    example: { episode: group.episode_id, task: group.task_id, message: group.message },
  }))
  for (const [cause, count] of Object.entries(primary?.missing ?? {})) {
    if (NO_TROUBLE.includes(cause)) continue
    if (count === 0 || found.some((trouble) => trouble.cause === cause)) continue
    const first = ungraded.find((one) => one.cause === cause && one.metric === primary?.name)
    const example = first && { episode: first.episode_id, task: first.task_id, message: first.message }
    found.push({ cause, count, effect: 'missing', example })
  }
  return found.sort((one, other) => other.count - one.count || one.cause.localeCompare(other.cause))
}

/** Episodes that failed and stay pending, as when a run ended because all of the first ones failed alike. */
export function tried({ failures, counts }: Pick<Schema<'RunDetail'>, 'failures' | 'counts'>): number {
  const all = failures.reduce((sum, { count: some }) => sum + some, 0)
  return Math.min(Math.max(all - counts.failed, 0), counts.owed)
}

/** What can be said of a run without any error: that is no praise, for its answers may all be wrong. */
export function withoutTrouble(run: Pick<Schema<'RunDetail'>, 'state' | 'counts' | 'kind'>): string {
  const { done, owed, truncated, timeout } = run.counts
  const going = isGoing(run)
  if (done === 0) return `No ${unitOf(run)}s were played ${going ? 'yet' : 'in this run'}.`
  const rest = owed > 0 ? `; ${count(owed)} ${owed === 1 ? 'is' : 'are'} still to play` : ''
  const cut = [
    truncated > 0 ? `${count(truncated)} reached the step limit` : '',
    timeout > 0 ? `${count(timeout)} reached the time limit` : '',
  ].filter(Boolean)
  const none = owed > 0 || run.state !== 'finished' ? '0 so far' : `0. No ${unitOf(run)} failed`
  return `${none}${cut.length > 0 ? `, ${cut.join(' and ')}` : ''}${rest}.`
}
