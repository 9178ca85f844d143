import { count, measure } from '../format'
import { Marked } from '../renderers/Marked'
import { brief } from '../renderers/marks'

/** A short value: numbers in few digits with all of them on hover, text as it is. */
export function FieldValue({ value, highlight }: { value: unknown; highlight: string }) {
  if (typeof value === 'number' && !Number.isInteger(value))
    return <span data-full={String(value)}>{measure(value)}</span>
  if (typeof value === 'number' && Math.abs(value) >= 10_000 && Number.isSafeInteger(value)) {
    return <span data-full={String(value)}>{count(value)}</span>
  }
  return <Marked text={brief(typeof value === 'string' ? value : JSON.stringify(value), 120)} highlight={highlight} />
}
