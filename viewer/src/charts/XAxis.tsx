import styles from './Axis.module.css'

/** A scale as the axes need it: where ticks are and where a value stands. */
export interface Scale<Value> {
  (value: Value): number
  ticks(count?: number): Value[]
  range(): number[]
}

/** Ticks and words at the bottom. */
export function XAxis<Value extends number | Date>({
  scale,
  y,
  form,
  label,
}: {
  scale: Scale<Value>
  y: number
  form: (value: Value) => string
  label?: string
}) {
  const [from = 0, to = 0] = scale.range()
  return (
    <g transform={`translate(0 ${y})`}>
      <line x1={from} x2={to} className={styles.axis} />
      {spaced(scale, Math.max(1, Math.floor((to - from) / 64))).map((tick) => (
        <g key={Number(tick)} transform={`translate(${scale(tick)} 0)`}>
          <line y2={4} className={styles.axis} />
          <text y={15} textAnchor={anchor(scale(tick), from, to)}>
            {form(tick)}
          </text>
        </g>
      ))}
      {label && (
        <text x={(from + to) / 2} y={29} textAnchor="middle">
          {label}
        </text>
      )}
    </g>
  )
}

/** At most about so many ticks: a scale of time takes a count for a hint, and may give twice as many. */
function spaced<Value>(scale: Scale<Value>, count: number): Value[] {
  for (let wanted = count; wanted > 1; wanted -= 1) {
    const ticks = scale.ticks(wanted)
    if (ticks.length <= count + 1) return ticks
  }
  return scale.ticks(1).slice(0, count + 1)
}

/** Words at the ends grow inwards so that nothing is cut off. */
function anchor(at: number, from: number, to: number): 'start' | 'middle' | 'end' {
  if (at < from + 12) return 'start'
  return at > to - 12 ? 'end' : 'middle'
}
