/** Two episodes step by step. */
import type { Schema } from '../../api/types'

export type Summary = Schema<'StepSummary'>

/** A step of both episodes; null where one has none. */
export interface Pair {
  step: number
  a: Summary | null
  b: Summary | null
  differs: boolean
}

/** Return steps of both episodes side by side, in the order of the steps. */
export function aligned(a: readonly Summary[], b: readonly Summary[]): Pair[] {
  const left = new Map(a.map((one) => [one.step, one]))
  const right = new Map(b.map((one) => [one.step, one]))
  const steps = [...new Set([...left.keys(), ...right.keys()])].sort((x, y) => x - y)
  return steps.map((step) => pair(step, left.get(step) ?? null, right.get(step) ?? null))
}

/** Return a step of both episodes. */
export function pair(step: number, a: Summary | null, b: Summary | null): Pair {
  return { step, a, b, differs: a === null || b === null || a.action !== b.action }
}

/** Return the first step at which something else was done; null when there is none among these. */
export function firstDifference(pairs: readonly Pair[]): number | null {
  return pairs.find((one) => one.differs)?.step ?? null
}
