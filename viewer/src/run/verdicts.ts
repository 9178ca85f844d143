/** Which episodes of a run passed, and how many. */

import type { Schema } from '../api/types'
import { thresholdOf } from './results/rollout'
import { compact, type RunSearch } from './search'
import { isPassFail } from './series'
import type { Counts } from './Tally'

type Run = Pick<Schema<'RunDetail'>, 'primary' | 'counts' | 'info'>

/** What stands among the missing although nothing went wrong. */
const NOT_PLAYED = 'not_run'
const SKIPPED = 'skipped'

/** Whether every score of a run says passed or not: by a threshold, or because all are 0 or 1. */
export function hasVerdicts(
  run: Pick<Run, 'primary' | 'info'>,
  histogram: Schema<'HistogramDocument'> | null,
): boolean {
  if (run.primary === null || !run.primary.higher_is_better || !run.primary.directed) return false
  if (run.primary.aggregation === 'pass_rate' || thresholdOf(run) !== null) return true
  if (histogram === null || run.primary.aggregation !== 'mean') return false
  const { low, high } = histogram
  return isPassFail(histogram) || (low === high && (low === 0 || low === 1))
}

/**
 * How the planned episodes of a run came out. An error left an episode without a value, also where it may be played
 * again; `missing` are the others without one: not played yet, or skipped by their grader.
 */
export function verdictCounts({ primary, counts }: Run, wrong: Schema<'WrongAnswersDocument'>): Counts {
  const { [NOT_PLAYED]: _unplayed, [SKIPPED]: _skipped, ...errors } = primary?.missing ?? {}
  // Of several tasks, each has metrics of its own: the primary one does not cover the others.
  const covered = counts.owed === 0 && primary !== null ? Math.min(primary.n_planned, counts.planned) : counts.planned
  const error = Object.values(errors).reduce((sum, some) => sum + some, 0)
  return {
    passed: Math.max(wrong.measured - wrong.wrong, 0),
    not_passed: wrong.wrong,
    error,
    missing: Math.max(covered - Math.max(wrong.measured, wrong.wrong) - error, 0),
  }
}

export type Choice = 'all' | 'fail' | 'pass' | 'missing' | 'pending'

/** What the table is filtered by, among the verdicts; null for anything else. */
export function chosenVerdict({ outcome, state }: RunSearch): Choice | null {
  if (state !== undefined)
    return outcome === undefined && state.length === 1 && state[0] === 'pending' ? 'pending' : null
  if (outcome === undefined) return 'all'
  return outcome === 'fail' || outcome === 'pass' || outcome === 'missing' ? outcome : null
}

/** The search for the episodes with a verdict. Kinds of mistakes are of wrong answers only. */
export function withVerdict(search: RunSearch, choice: Choice): RunSearch {
  const wrong = choice === 'fail' ? {} : { mistake: undefined }
  const outcome = choice === 'all' || choice === 'pending' ? undefined : choice
  return compact({ ...search, ...wrong, outcome, state: choice === 'pending' ? ['pending'] : undefined })
}
