/** What went wrong in a run. */

import type { Schema } from '../api/paths'

type FailureGroup = Schema<'FailureGroup'>
type Metric = Schema<'MetricDocument'>

/** What stands among the missing for planned episodes that were not played. */
const NOT_RUN = 'not_run'

/** One cause of trouble in a run: how many episodes, whether they count, and the first of them. */
export interface Trouble {
  cause: string
  count: number
  /** `worst`: counted as the worst value; `missing`: left out of the score. */
  effect: 'worst' | 'missing'
  example?: { episode: string; task: string; message: string; boundary: string }
}

/**
 * What went wrong in a run, most frequent first: failed episodes by cause, and values that are missing although their
 * episode did not fail (those have no example). Episodes that were not played yet are no trouble; progress shows them.
 */
export function troubles(failures: readonly FailureGroup[], primary: Metric | null): Trouble[] {
  const found: Trouble[] = failures.map((group) => ({
    cause: group.cause,
    count: group.count,
    effect: group.valid ? 'worst' : 'missing',
    example: { episode: group.episode_id, task: group.task_id, message: group.message, boundary: group.boundary },
  }))
  for (const [cause, count] of Object.entries(primary?.missing ?? {})) {
    if (cause === NOT_RUN) continue
    if (count > 0 && !found.some((trouble) => trouble.cause === cause)) found.push({ cause, count, effect: 'missing' })
  }
  return found.sort((one, other) => other.count - one.count || one.cause.localeCompare(other.cause))
}
