/** What the charts of a run are drawn from. */

import type { Schema } from '../api/types'
import type { LineBin } from '../charts/BinnedLine'
import { count } from '../format'
import type { RunSearch } from './search'

type PositionBin = Schema<'PositionBin'>
type TimeBin = Schema<'TimeBinDocument'>
type Histogram = Schema<'HistogramDocument'>

/** One outcome of episodes: how many had it, and the filter that shows them. */
export interface OutcomeBar {
  label: string
  count: number
  tone: 'good' | 'bad' | 'worst' | 'missing'
  filter: Pick<RunSearch, 'low' | 'high' | 'outcome'>
}

/** Whether a score only says passed or failed: every value is 0 or 1. */
export function isPassFail({ low, high, counts }: Histogram): boolean {
  return low === 0 && high === 1 && counts.length > 1 && counts.slice(1, -1).every((some) => some === 0)
}

/** Episodes by outcome: passed and not for scores of 0 and 1, and always those without a value. */
export function outcomeBars(histogram: Histogram): OutcomeBar[] {
  const { counts, worst, missing } = histogram
  const bars: OutcomeBar[] = []
  if (isPassFail(histogram)) {
    bars.push({ label: 'Passed', count: counts.at(-1) ?? 0, tone: 'good', filter: { outcome: 'pass' } })
    bars.push({ label: 'Not passed', count: counts[0] ?? 0, tone: 'bad', filter: { low: 0, high: 0 } })
  }
  if (worst > 0) bars.push({ label: 'Counted as worst', count: worst, tone: 'worst', filter: { outcome: 'worst' } })
  if (missing > 0)
    bars.push({ label: 'Missing score', count: missing, tone: 'missing', filter: { outcome: 'missing' } })
  return bars
}

/**
 * Bins along the plan, joined until there are at most `most` of them. Failed episodes count as `worst` where that is
 * known; else they are left out.
 */
export function joinedBins(bins: readonly PositionBin[], worst: number | null, most = 20): LineBin[] {
  return joined(bins, most).map((group) => {
    const first = group[0]?.first ?? 0
    const last = group.at(-1)?.last ?? first
    const failed = group.reduce((sum, bin) => sum + bin.failed, 0)
    return { at: (first + last) / 2, value: weightedMean(group, worst), label: places(first, last, failed) }
  })
}

/** The primary metric over the episodes of the plan up to one of them. */
export function soFar({ last, n, value, low, high }: Schema<'CumulativeBin'>): LineBin {
  return { at: last + 1, value, low, high, label: `first ${count(last + 1)}, n = ${count(n)}` }
}

/** What the chart of passed against not passed episodes is drawn from. */
export function contrastProps(contrast: Schema<'ContrastDocument'>, unit = 'episode') {
  const { name, low, high, passed, not_passed, passed_median, not_passed_median } = contrast
  return {
    title: `${name === 'steps' ? 'Steps' : 'Tokens'} of passed and not passed ${unit}s`,
    ...{ low, high, noun: unit },
    above: { label: 'passed', counts: passed, median: passed_median, colour: 'var(--good)' },
    below: { label: 'not passed', counts: not_passed, median: not_passed_median, colour: 'var(--bad)' },
  }
}

/** What each point of the line along the plan averages: `mean of 5 episodes a point`. */
export function pointWords(bins: readonly PositionBin[], unit = 'episode', most = 20): string {
  const size = Math.max(...joined(bins, most).map((group) => (group.at(-1)?.last ?? 0) - (group[0]?.first ?? 0) + 1), 1)
  return size === 1 ? `one ${unit} per point` : `mean of ${count(size)} ${unit}s per point`
}

/** What a failed episode counts as, if that is the same for all of them; null when some are left out of the score. */
export function worstOfAll({ counts, primary }: Pick<Schema<'RunDetail'>, 'counts' | 'primary'>): number | null {
  return primary !== null && counts.failed > 0 && primary.n_worst === counts.failed ? primary.worst_value : null
}

/** What happened over time, in the form that bars need: at most `most` of them. A cost is null where a price is unknown. */
export function timeLayers(bins: readonly TimeBin[], most = 60) {
  const groups = joined(bins, most)
  const sums = (of: (bin: TimeBin) => number) => groups.map((group) => group.reduce((sum, bin) => sum + of(bin), 0))
  return {
    at: groups.map((group) => group[0]?.at ?? ''),
    seconds: (groups[0] ?? []).reduce((sum, { seconds }) => sum + seconds, 0),
    ordinary: sums(({ episodes, failed }) => episodes - failed),
    failed: sums(({ failed }) => failed),
    tokens: sums(({ tokens }) => tokens),
    cost: sums(({ cost_usd }) => cost_usd ?? 0),
    unpriced: bins.some(({ cost_usd, episodes }) => cost_usd === null && episodes > 0),
  }
}

function joined<Bin>(bins: readonly Bin[], most: number): Bin[][] {
  const size = Math.max(Math.ceil(bins.length / most), 1)
  return Array.from({ length: Math.ceil(bins.length / size) }, (_, place) =>
    bins.slice(place * size, (place + 1) * size),
  )
}

function weightedMean(bins: readonly PositionBin[], worst: number | null): number | null {
  let sum = 0
  let weight = 0
  for (const { n, failed, mean } of bins) {
    if (mean !== null) {
      const scored = Math.max(n - failed, 1)
      sum += mean * scored
      weight += scored
    }
    if (worst !== null) {
      sum += worst * failed
      weight += failed
    }
  }
  return weight === 0 ? null : sum / weight
}

function places(first: number, last: number, failed: number): string {
  const range = first === last ? `episode ${count(first)}` : `episodes ${count(first)} to ${count(last)}`
  return failed === 0 ? range : `${range}, ${count(failed)} failed`
}
