/** What the charts of a run are drawn from. */

import type { Schema } from '../api/paths'
import type { LineBin } from '../charts/BinnedLine'
import { count } from '../format'
import type { RunSearch } from './search'

type PositionBin = Schema<'PositionBin'>
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
    bars.push({ label: 'Passed', count: counts.at(-1) ?? 0, tone: 'good', filter: { low: 1, high: 1 } })
    bars.push({ label: 'Not passed', count: counts[0] ?? 0, tone: 'bad', filter: { low: 0, high: 0 } })
  }
  if (worst > 0) bars.push({ label: 'Counted as worst', count: worst, tone: 'worst', filter: { outcome: 'worst' } })
  if (missing > 0)
    bars.push({ label: 'Score missing', count: missing, tone: 'missing', filter: { outcome: 'missing' } })
  return bars
}

/** Bins along the plan, joined until there are at most `most` of them. Failed episodes have no score, so do not weigh. */
export function joinedBins(bins: readonly PositionBin[], most = 40): LineBin[] {
  const size = Math.max(Math.ceil(bins.length / most), 1)
  const joined: LineBin[] = []
  for (let start = 0; start < bins.length; start += size) {
    const group = bins.slice(start, start + size)
    const first = group[0]?.first ?? 0
    const last = group.at(-1)?.last ?? first
    const failed = group.reduce((sum, bin) => sum + bin.failed, 0)
    joined.push({ at: (first + last) / 2, value: weightedMean(group), label: places(first, last, failed) })
  }
  return joined
}

/** A part of the whole time in which something is known, in the form that bars over time need. */
export function timeLayers(bins: readonly Schema<'TimeBin'>[]) {
  return {
    at: bins.map(({ at }) => at),
    seconds: bins[0]?.seconds ?? 1,
    ordinary: bins.map(({ episodes, failed }) => episodes - failed),
    failed: bins.map(({ failed }) => failed),
    tokens: bins.map(({ tokens }) => tokens),
    cost: bins.map(({ cost_usd }) => cost_usd),
  }
}

function weightedMean(bins: readonly PositionBin[]): number | null {
  let sum = 0
  let weight = 0
  for (const { n, failed, mean } of bins) {
    if (mean === null) continue
    const scored = Math.max(n - failed, 1)
    sum += mean * scored
    weight += scored
  }
  return weight === 0 ? null : sum / weight
}

function places(first: number, last: number, failed: number): string {
  const range = first === last ? `episode ${count(first)}` : `episodes ${count(first)} to ${count(last)}`
  return failed === 0 ? range : `${range}, ${count(failed)} failed`
}
