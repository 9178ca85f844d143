import { interval, measure } from '../format'
import styles from './IntervalBar.module.css'

/** A value with its interval on a scale. */
interface IntervalBarProps {
  value: number | null
  low?: number | null
  high?: number | null
  /** Ends of the scale; 0 and 1 unless given. */
  scale?: readonly [number, number]
  /** A value to compare with: a thin line. */
  reference?: number | null
  /** What the value is, for those who cannot see it. */
  label?: string
  /** A CSS length; as wide as its place unless given. */
  width?: string
}

/** A bar from the left to the value with the interval laid over it. */
export function IntervalBar({ value, low, high, scale = [0, 1], reference, label = 'score', width }: IntervalBarProps) {
  const [from, to] = scale
  const place = (at: number) => `${Math.max(0, Math.min(100, (100 * (at - from)) / (to - from || 1)))}%`
  const said = value === null ? `${label}: no value` : `${label}: ${measure(value)} ${interval(low, high)}`.trim()
  return (
    <span className={styles.bar} role="img" aria-label={said} style={{ width }}>
      {value !== null && <span className={styles.fill} style={{ width: place(value) }} />}
      {low != null && high != null && (
        <span className={styles.range} style={{ left: place(low), right: `calc(100% - ${place(high)})` }} />
      )}
      {reference != null && <span className={styles.reference} style={{ left: place(reference) }} />}
      {value !== null && <span className={styles.value} style={{ left: place(value) }} />}
    </span>
  )
}
