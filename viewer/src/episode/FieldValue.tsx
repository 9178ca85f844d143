import { count, measure } from '../format'
import { Duration } from '../parts/Duration'
import { Marked } from '../renderers/Marked'
import { brief } from '../renderers/marks'

/** A short value: numbers in few digits with all of them as a hint, lengths of time as such, text as it is. */
export function FieldValue({ value, highlight, seconds }: { value: unknown; highlight: string; seconds?: boolean }) {
  if (seconds && typeof value === 'number') return <Duration seconds={value} />
  if (typeof value === 'number' && !Number.isInteger(value))
    return <span data-full={String(value)}>{measure(value)}</span>
  if (typeof value === 'number' && Math.abs(value) >= 10_000 && Number.isSafeInteger(value)) {
    return <span data-full={String(value)}>{count(value)}</span>
  }
  return <Marked text={brief(typeof value === 'string' ? value : JSON.stringify(value), 120)} highlight={highlight} />
}
