/** κ and α as words: two digits, as people quote them. */
import type { Schema } from '../api/types'

/** A number with two digits; the minus is a minus. */
export function digits(value: number): string {
  return value.toFixed(2).replace('-', '−')
}

/** An interval as `0.59 – 0.88`; a dash where it is not known. */
export function ends(found: Schema<'IntervalDocument'>): string {
  return found.low === null || found.high === null ? '–' : `${digits(found.low)} – ${digits(found.high)}`
}

/** A value with its interval: `0.75, 0.59 – 0.88`. */
export function kappaWords(found: Schema<'IntervalDocument'>): string {
  return found.low === null ? `${digits(found.value)}, interval not known` : `${digits(found.value)}, ${ends(found)}`
}
