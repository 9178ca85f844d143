/** The common scale of a leaderboard: every interval, the floor and the ceiling, with round ends. */

import type { components } from '../api/schema'

type Entry = components['schemas']['Entry']

/** A linear scale from `low` to `high` with round `ticks` inside. */
export interface Scale {
  low: number
  high: number
  ticks: number[]
}

/** The scale on which all of `values` can be drawn; whatever is null is passed over. */
export function scaleOf(values: readonly (number | null | undefined)[], about = 5): Scale {
  const known = values.filter((value): value is number => typeof value === 'number' && Number.isFinite(value))
  let low = Math.min(...known)
  let high = Math.max(...known)
  if (known.length === 0) [low, high] = [0, 1]
  if (low === high) [low, high] = [low - Math.max(Math.abs(low) * 0.1, 0.5), high + Math.max(Math.abs(high) * 0.1, 0.5)]
  const step = roundStep((high - low) / about)
  const first = Math.floor(low / step + 1e-9)
  const last = Math.ceil(high / step - 1e-9)
  const ticks: number[] = []
  for (let index = first; index <= last; index++) ticks.push(Number((index * step).toPrecision(12)))
  return { low: ticks[0] ?? low, high: ticks.at(-1) ?? high, ticks }
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

/** The places that an entry may have: `1`, or `2–4` when its difference to others could be chance. */
export function rankWords(entry: Pick<Entry, 'rank' | 'rank_last'>): string {
  return entry.rank === entry.rank_last ? String(entry.rank) : `${entry.rank}–${entry.rank_last}`
}

function roundStep(rough: number): number {
  const power = 10 ** Math.floor(Math.log10(rough))
  const ratio = rough / power
  return power * (ratio <= 1 ? 1 : ratio <= 2 ? 2 : ratio <= 5 ? 5 : 10)
}
