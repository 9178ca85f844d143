import { exact, measure } from '../format'

/** A measurement in about three digits, or in the form that is given; all digits on hover. */
export function Num({
  value,
  form = measure,
  unit,
}: {
  value: number | null | undefined
  form?: (value: number | null | undefined) => string
  unit?: string
}) {
  return (
    <span className="number" data-tip={exact(value, unit)}>
      {form(value)}
    </span>
  )
}
