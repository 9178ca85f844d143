/** What is said about the samples of a rollout. */

import { count, plural } from '../../format'
import type { Counts, Results } from './types'

/** A part of all planned samples. `filter` names how the table shows it, where it can. */
export interface Share {
  id: 'graded' | 'passed' | 'below' | 'failed' | 'skipped' | 'owed'
  label: string
  count: number
}

/** The planned samples by what came of them; of parts that are empty only `passed` and `failed` are kept. */
export function sharesOf(counts: Counts, threshold: number | null): Share[] {
  const { graded, passed } = counts
  const shares: Share[] = [
    ...(passed === null || threshold === null
      ? [{ id: 'graded' as const, label: 'graded', count: graded }]
      : [
          { id: 'passed' as const, label: 'passed', count: passed },
          { id: 'below' as const, label: 'not passed', count: Math.max(graded - passed, 0) },
        ]),
    { id: 'failed', label: 'failed', count: counts.failed },
    { id: 'skipped', label: 'skipped', count: counts.skipped },
    { id: 'owed', label: 'pending', count: counts.owed },
  ]
  return shares.filter(({ id, count: some }) => some > 0 || id === 'passed' || id === 'failed')
}

/** The counts in a sentence: `90 graded, 60 passed, 8 failed, 2 skipped, none owed`. */
export function countWords({ graded, passed, failed, skipped, owed }: Counts): string {
  const parts = [
    `${count(graded)} graded`,
    `${count(failed)} failed`,
    `${count(skipped)} skipped`,
    `${count(owed)} pending`,
  ]
  return (passed === null ? parts : parts.toSpliced(1, 0, `${count(passed)} passed`)).join(', ')
}

/** What the pass rate of the published tools counts: every finished sample that was not skipped. */
export function attemptedWords({ counts: { passed, done, skipped } }: Results): string {
  const attempted = Math.max(done - skipped, 0)
  return `${count(passed)} of ${plural(attempted, 'finished sample')}; failures of any cause count as not passed`
}

/** The greatest number that is less than `value`: what a range that leaves out its end ends with. */
export function justBelow(value: number): number {
  const view = new DataView(new ArrayBuffer(8))
  if (value === 0) return -Number.MIN_VALUE
  view.setFloat64(0, value)
  view.setBigInt64(0, view.getBigInt64(0) + (value > 0 ? -1n : 1n))
  return view.getFloat64(0)
}

/** Failures with those of a stage next to each other: the stage with most first, in it the most frequent cause. */
export function byStage(failures: Results['failures']): Results['failures'] {
  const totals = new Map<string, number>()
  for (const { stage, count: some } of failures) totals.set(stage, (totals.get(stage) ?? 0) + some)
  const total = (stage: string) => totals.get(stage) ?? 0
  return failures.toSorted(
    (one, other) =>
      total(other.stage) - total(one.stage) || one.stage.localeCompare(other.stage) || other.count - one.count,
  )
}
