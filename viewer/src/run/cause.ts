/** Causes of failures in words for people. */

import type { Schema } from '../api/paths'

type FailureGroup = Schema<'FailureGroup'>
type Metric = Schema<'MetricDocument'>

/** What stands among the missing for planned episodes that were not played. */
export const NOT_RUN = 'not_run'

interface Words {
  title: string
  meaning: string
}

const WORDS: Record<string, Words> = {
  rate_limited: {
    title: 'Rate limited',
    meaning: 'The model’s provider answered “too many requests” until the retries ran out.',
  },
  model_unavailable: {
    title: 'Model unavailable',
    meaning: 'The model’s server could not be reached or answered with an error.',
  },
  model_timeout: { title: 'Model timed out', meaning: 'The model did not answer in time.' },
  model_invalid: { title: 'Invalid reply', meaning: 'The model’s server answered something that is not a reply.' },
  model_rejected: { title: 'Request rejected', meaning: 'The model’s server refused the request as it was sent.' },
  model_forbidden: {
    title: 'No access to the model',
    meaning: 'The key is missing or has no access. Check the key, then resume.',
  },
  model_missing: { title: 'No such model', meaning: 'The model’s server does not know this model.' },
  context_overflow: { title: 'Context overflow', meaning: 'The conversation outgrew what the model can read.' },
  reply_truncated: { title: 'Reply cut off', meaning: 'The reply reached its token limit before it was complete.' },
  malformed_action: { title: 'Malformed action', meaning: 'The reply could not be understood as an action.' },
  refused: { title: 'Refused', meaning: 'The model refused to act.' },
  token_budget_exceeded: { title: 'Token budget used up', meaning: 'The episode used all the tokens it was allowed.' },
  agent_error: { title: 'Agent error', meaning: 'The agent’s own code raised an error.' },
  agent_timeout: { title: 'Agent timed out', meaning: 'The agent did not finish in time.' },
  environment_error: { title: 'Environment error', meaning: 'The environment reported an error or crashed.' },
  environment_timeout: { title: 'Environment timed out', meaning: 'The environment did not answer in time.' },
  environment_unreachable: {
    title: 'Environment unreachable',
    meaning: 'The environment’s server could not be reached.',
  },
  environment_invalid: {
    title: 'Invalid environment answer',
    meaning: 'The environment’s answer breaks the protocol.',
  },
  sandbox_failed: { title: 'Sandbox failed', meaning: 'The sandbox did not start or broke down.' },
  grader_error: { title: 'Grader error', meaning: 'The grader raised an error.' },
  value_missing: { title: 'No value', meaning: 'The grader or environment gave no value for this score.' },
  value_unusable: { title: 'Unusable value', meaning: 'The value given for this score is not a usable number.' },
  store_error: { title: 'Not stored', meaning: 'The results could not be written.' },
  not_run: { title: 'Not played', meaning: 'Planned, but never played. Resuming the run plays them.' },
  agent_failure: {
    title: 'Agent failed',
    meaning: 'The agent failed by itself, and this metric has no worst value to count it as.',
  },
  cancelled: { title: 'Cancelled', meaning: 'The episode was cancelled; resuming the run plays it again.' },
  internal_error: { title: 'Internal error', meaning: 'mesocosm itself failed. Please report it.' },
}

/** A cause as a short title; one that this page does not know yet keeps its name. */
export function causeTitle(cause: string): string {
  const spelled = cause.replaceAll('_', ' ')
  return WORDS[cause]?.title ?? spelled.charAt(0).toUpperCase() + spelled.slice(1)
}

/** What a cause means, in one sentence; empty for an unknown one. */
export function causeMeaning(cause: string): string {
  return WORDS[cause]?.meaning ?? ''
}

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
