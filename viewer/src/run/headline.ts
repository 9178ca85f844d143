/** The headline score of a run in words: what it counts, what it leaves out, and what if that counted as worst. */

import type { Schema } from '../api/types'
import { AGGREGATIONS, METHODS } from '../api/words'
import { count, interval, measure, plural } from '../format'
import { lookOf } from '../parts/look'
import type { State } from '../parts/Status'
import { unitOf } from './results/rollout'

type Run = Schema<'RunSummary'>
type Metric = Schema<'MetricDocument'>

/** The number to show (null: none yet, and `note` says why), and sentences about what it counts. */
interface Headline {
  metric: Metric | null
  note: string
  sentences: string[]
}

/** Whether episodes are still being played. */
export function isGoing(run: Pick<Run, 'state'>): boolean {
  return run.state === 'running' || run.state === 'pending'
}

/** The state of a run; on a server that of its request where the record does not know it yet. */
export function stateOf({ state, request }: Pick<Run, 'state' | 'request'>): State {
  if (request?.state === 'queued') return 'pending'
  if (request?.state === 'claimed') return 'running'
  return request?.state === 'cancelled' && state !== 'finished' ? 'stopped' : state
}

/** The word for a status of the older interface, which some numbers of a server are counted by. */
export function runWord(status: string): string {
  return { completed: 'finished', cancelled: 'stopped' }[status] ?? status
}

/** Say what the headline score of a run means. */
export function headline(run: Run): Headline {
  const metric = run.primary
  if (metric === null || metric.value === null) return { metric, note: withoutScore(run), sentences: [] }
  return {
    metric,
    note: '',
    sentences: [counted(run, metric), worst(metric), strictly(metric), left(run, metric)].filter(Boolean),
  }
}

/** Whether anything is missing, so that counting it as worst is a reading of its own, be it only by its interval. */
export function hasTwoReadings(metric: Metric): boolean {
  return metric.n_scored < metric.n_planned && metric.pessimistic !== null
}

/** How a metric is computed from the values of episodes. */
export function aggregationWords(metric: Metric, unit = 'episode'): string {
  const words = lookOf<string>(AGGREGATIONS, metric.aggregation)
  return words?.replace('{unit}', unit) ?? metric.aggregation.replaceAll('_', ' ')
}

/** How an interval was computed. */
export function methodWords(metric: Metric): string {
  if (metric.low === null || metric.high === null) return 'no interval'
  const words = lookOf<string>(METHODS, metric.method) ?? `interval (${metric.method})`
  return `${Math.round(metric.level * 100)}% ${words}${metric.weak ? ', weak: it rests on few values' : ''}`
}

function withoutScore(run: Run): string {
  const { done, planned } = run.counts
  const unit = unitOf(run)
  if (done === 0) {
    if (run.state === 'pending') return `Waiting to start. The score appears with the first finished ${unit}.`
    if (run.state === 'running') return `No ${unit} has finished yet. The score appears with the first one.`
    return planned === 0 ? `This run has no ${unit}s.` : `Ended before any ${unit} finished.`
  }
  if (isGoing(run)) return `No score yet after ${plural(done, unit)}.`
  return `None of the ${plural(done, `finished ${unit}`)} could be scored; see the causes.`
}

function counted(run: Run, metric: Metric): string {
  const { n_scored: scored, n_planned: planned } = metric
  const unit = unitOf(run)
  if (scored >= planned)
    return scored === 1 ? `Includes the only planned ${unit}.` : `Includes all ${count(planned)} planned ${unit}s.`
  const share = `Includes ${count(scored)} of ${plural(planned, `planned ${unit}`)}`
  const { owed } = run.counts
  if (owed === 0) return `${share}.`
  return isGoing(run) ? `${share}; ${count(owed)} pending.` : `${share}; ${count(owed)} were never played.`
}

function worst(metric: Metric): string {
  if (metric.n_worst === 0) return ''
  const value = metric.worst_value === null ? '' : ` (${measure(metric.worst_value)})`
  return `${plural(metric.n_worst, 'failure')} of the agent ${metric.n_worst === 1 ? 'counts' : 'count'} as the worst score${value}.`
}

/** What it would be if replies without a valid action, which the environment took, counted as worst. */
function strictly(metric: Metric): string {
  if (metric.n_malformed === 0) return ''
  const passed = `${plural(metric.n_malformed, 'episode')} with an invalid reply that was passed to the environment`
  if (metric.strict === null) return `${passed}.`
  const range = interval(metric.strict_low, metric.strict_high, metric.weak)
  return `${passed}; counted as worst: ${[measure(metric.strict), range].filter(Boolean).join(' ')}.`
}

/** While episodes are still to be played, counting them as worst would say nothing. */
function left(run: Run, metric: Metric): string {
  const missing = metric.n_planned - metric.n_scored
  if (isGoing(run) || metric.pessimistic === null || !hasTwoReadings(metric)) return ''
  const range = interval(metric.pessimistic_low, metric.pessimistic_high, metric.weak)
  const ones = missing === 1 ? 'the missing one' : `the ${count(missing)} missing ones`
  return `If ${ones} counted as worst: ${[measure(metric.pessimistic), range].filter(Boolean).join(' ')}.`
}
