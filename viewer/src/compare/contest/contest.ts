/** A stored comparison of two models, in words. */
import type { Schema } from '../../api/types'
import { plural } from '../../format'

export type Contest = Schema<'ModelComparisonDocument'>
export type ContestRow = Schema<'ModelComparisonRow'>
type Side = Schema<'SideDocument'>
type Result = Schema<'SideResult'>

/** How many benchmarks each side won, how many are ties, and how many could not be compared. */
interface Tally {
  a: number
  b: number
  tie: number
  none: number
}

/** Count who won. */
export function tally(rows: readonly ContestRow[]): Tally {
  const found: Tally = { a: 0, b: 0, tie: 0, none: 0 }
  for (const { winner } of rows) found[winner ?? 'none'] += 1
  return found
}

/** A comparison in one sentence. */
export function tallyWords({ a, b, tie, none }: Tally): string {
  const compared = a + b + tie
  if (compared === 0) return 'No benchmarks could be compared.'
  const left = none > 0 ? `; ${plural(none, 'benchmark')} could not be compared` : ''
  return `Of ${plural(compared, 'benchmark')}, B is better on ${b} and worse on ${a}, with ${plural(tie, 'tie')}${left}.`
}

/** The name of a model with its provider. */
export function sideName(side: Side | undefined): string {
  return side === undefined ? 'not started' : [side.provider, side.model].filter(Boolean).join('/')
}

/** Why a side has no score; empty when it has one. */
export function reasonWords({ score, status, reason }: Result): string {
  if (score !== null && score.value !== null && status !== 'failed') return ''
  if (reason !== '') return `${status}: ${reason}`
  return status === null ? 'not played yet' : status
}

/** The two runs to be looked at task by task; null where there are not two. */
export function pairOf({ a, b, p_value }: ContestRow): string[] | null {
  return a.run_id === null || b.run_id === null || p_value === null ? null : [a.run_id, b.run_id]
}
