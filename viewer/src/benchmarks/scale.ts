/** The common scale of a leaderboard: every interval, the floor and the ceiling, with round ends. */

import { scaleLinear } from 'd3-scale'
import type { Schema } from '../api/types'

type Entry = Schema<'BenchmarkEntry'>

/** A linear scale from `low` to `high` with round `ticks` inside. */
export interface Scale {
  low: number
  high: number
  ticks: number[]
}

/** The scale on which all of `values` can be drawn; whatever is null is passed over. */
export function scaleOf(values: readonly (number | null | undefined)[], about = 5): Scale {
  const known = values.filter((value): value is number => typeof value === 'number' && Number.isFinite(value))
  let [low, high] = known.length === 0 ? [0, 1] : [Math.min(...known), Math.max(...known)]
  if (low === high) [low, high] = [low - room(low), high + room(high)]
  const scale = scaleLinear([low, high], [0, 1]).nice(about)
  const [first = low, last = high] = scale.domain()
  return { low: first, high: last, ticks: scale.ticks(about) }
}

/** The scale of a single score: from 0 to 1 where all of it lies there, so that scores of several benchmarks look alike. */
export function wholeScale(values: readonly (number | null | undefined)[]): Scale {
  const inside = values.every((value) => value == null || (value >= 0 && value <= 1))
  return scaleOf(inside ? [...values, 0, 1] : values, 4)
}

/** Where a value lies on a scale, 0…1, never outside. */
export function placeOn(scale: Scale, value: number): number {
  return Math.min(Math.max((value - scale.low) / (scale.high - scale.low), 0), 1)
}

/** All numbers of a leaderboard that its scale must hold. */
export function leaderboardValues(
  entries: readonly Entry[],
  floor: number | null,
  ceiling: number | null,
): (number | null)[] {
  return [floor, ceiling, ...entries.flatMap(({ metric }) => [metric.value, metric.low, metric.high])]
}

/** The places that an entry may have: `1`, or `2–4` when its difference to others could be chance; none for references. */
export function rankWords(entry: Pick<Entry, 'rank' | 'rank_last'>): string {
  if (entry.rank === null) return ''
  return entry.rank === entry.rank_last ? String(entry.rank) : `${entry.rank}–${entry.rank_last ?? entry.rank}`
}

/** How much is shown on each side of a single value. */
function room(value: number): number {
  return Math.max(Math.abs(value) * 0.1, 0.5)
}
