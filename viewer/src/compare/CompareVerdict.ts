/** What a comparison of two runs says, in numbers with the right sign. */

import type { Schema } from '../api/types'
import { count, plural, pValue } from '../format'

export type Pair = Schema<'RunPairDocument'>
export type Comparison = Schema<'ComparisonDocument'>
export type BenchmarkComparison = Schema<'BenchmarkComparison'>
export type TaskPair = Schema<'TaskPairDocument'>

/** A difference told from the side of the winner: by how much it is better, always positive. */
interface Lead {
  amount: number
  low: number | null
  high: number | null
  weak: boolean
}

/** By how much the better of two runs is better; in a tie the difference as it was measured, seen from the greater. */
export function leadOf(pair: Pair): Lead {
  if (pair.delta >= 0) return { amount: pair.delta, low: pair.low, high: pair.high, weak: pair.weak }
  return { amount: -pair.delta, low: negated(pair.high), high: negated(pair.low), weak: pair.weak }
}

/** Whether more of a metric is better; null where nobody declared it, and runs are only higher or lower. */
export type Direction = boolean | null

/**
 * Which run looks better in a metric, whether or not it could be chance; where no direction is declared, which one is
 * higher. Null when they are equal.
 */
export function leaderOf(pair: Pair, direction: Direction): 'a' | 'b' | null {
  if (pair.delta === 0) return null
  return pair.delta > 0 === (direction ?? true) ? 'b' : 'a'
}

/** What a run is that has the lead, and one that has not. */
export function leadWords(direction: Direction): { ahead: string; behind: string } {
  return direction === null ? { ahead: 'higher', behind: 'lower' } : { ahead: 'better', behind: 'worse' }
}

/** The direction of a metric in words. */
export function directionWords(direction: Direction): string {
  if (direction === null) return 'no direction declared'
  return direction ? 'higher is better' : 'lower is better'
}

/** A p-value as people write it; a very small one is less than a bound, never 0. */
export function pWords(p: number): string {
  if (!Number.isFinite(p)) return 'p unknown'
  const words = pValue(p)
  return words.startsWith('<') ? `p < ${words.slice(1)}` : `p = ${words}`
}

/** Over what two runs were compared. */
export function basisWords(pair: Pair): string {
  if (pair.paired) return `${plural(pair.n_a, 'task')} paired`
  return `unpaired: ${count(pair.n_a)} and ${count(pair.n_b)} different tasks`
}

/** Tests by their names in words. */
export function testWords(test: string): string {
  return test.replaceAll('_', ' ').trim()
}

/** The domain that holds all of the intervals, and `around` where it is given; a little wider than needed. */
export function domainOf(values: readonly (number | null)[], around?: number): [number, number] {
  const known = values.filter((value): value is number => value !== null && Number.isFinite(value))
  if (around !== undefined) known.push(around)
  if (known.length === 0) return [0, 1]
  const [low, high] = [Math.min(...known), Math.max(...known)]
  if (low === high) return [low - 0.5, high + 0.5]
  const margin = (high - low) * 0.04
  return [low - margin, high + margin]
}

/** The domain of scores: 0 to 1 when all of them are in it, else what holds all of them. */
export function scoreDomain(values: readonly (number | null)[]): [number, number] {
  const known = values.filter((value): value is number => value !== null && Number.isFinite(value))
  if (known.every((value) => value >= 0 && value <= 1)) return [0, 1]
  return domainOf(known)
}

/** The domain of differences of scores, with 0 in it. It ends at what is possible: −1 and 1 for scores from 0 to 1. */
export function differenceDomain(
  scores: readonly (number | null)[],
  values: readonly (number | null)[],
): [number, number] {
  const [low, high] = domainOf(values, 0)
  const [least, greatest] = scoreDomain(scores)
  return least === 0 && greatest === 1 ? [Math.max(low, -1), Math.min(high, 1)] : [low, high]
}

function negated(value: number | null): number | null {
  return value === null ? null : -value
}
