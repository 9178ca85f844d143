/** The scales on which scores of different benchmarks are drawn. */
import type { Run } from './page'

/** From the left end of a bar to its right end. */
export type Scale = readonly [low: number, high: number]

/** What runs must have in common to be drawn on one scale. */
export function scaleKey(run: Pick<Run, 'benchmark' | 'primary'>): string {
  return JSON.stringify([run.benchmark, run.primary?.name ?? ''])
}

/** The scale of each benchmark's primary metric: 0 to 1 when all of its runs are in it, else what holds them all. */
export function scalesOf(runs: readonly Run[]): Map<string, Scale> {
  const scales = new Map<string, Scale>()
  for (const run of runs) {
    const { primary } = run
    if (primary === null) continue
    const values = [primary.value, primary.low, primary.high].filter((value) => value !== null)
    const [low, high] = scales.get(scaleKey(run)) ?? [0, 1]
    scales.set(scaleKey(run), [Math.min(low, ...values), Math.max(high, ...values)])
  }
  return scales
}
