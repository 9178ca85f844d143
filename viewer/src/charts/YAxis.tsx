import styles from './Axis.module.css'
import type { Scale } from './XAxis'

/** Words at the left and fine lines across. */
export function YAxis({
  scale,
  x,
  width,
  form,
  ticks = 4,
}: {
  scale: Scale<number>
  x: number
  width: number
  form: (value: number) => string
  ticks?: number
}) {
  return (
    <g transform={`translate(${x} 0)`}>
      {scale.ticks(ticks).map((tick) => (
        <g key={tick} transform={`translate(0 ${scale(tick)})`}>
          <line x2={width} className={styles.grid} />
          <text x={-6} dy="0.32em" textAnchor="end">
            {form(tick)}
          </text>
        </g>
      ))}
    </g>
  )
}
