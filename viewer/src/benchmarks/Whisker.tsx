/** One value with its interval on the common scale of a leaderboard, with floor and ceiling as lines behind it. */

import type { Schema } from '../api/types'
import { interval, measure } from '../format'
import { placeOn, type Scale } from './scale'
import styles from './Whisker.module.css'

interface WhiskerProps {
  /** Null where only floor and ceiling are known. */
  metric: Schema<'MetricDocument'> | null
  scale: Scale
  floor: number | null
  ceiling: number | null
  /** What this run is a reference for, if it is one: drawn hollow. */
  reference: string
}

const UNKNOWN = { value: null, low: null, high: null, weak: false }

export function Whisker({ metric, scale, floor, ceiling, reference }: WhiskerProps) {
  const { value, low, high, weak } = metric ?? UNKNOWN
  const at = (number: number) => `${placeOn(scale, number) * 100}%`
  return (
    <span
      className={styles.plot}
      data-tip={value === null ? undefined : `${measure(value)} ${interval(low, high, weak)}`}
    >
      {scale.ticks.map((tick) => (
        <span key={tick} className={styles.tick} style={{ left: at(tick) }} />
      ))}
      {floor !== null && <span className={styles.reference} data-kind="floor" style={{ left: at(floor) }} />}
      {ceiling !== null && <span className={styles.reference} data-kind="ceiling" style={{ left: at(ceiling) }} />}
      {low !== null && high !== null && (
        <span
          className={styles.range}
          style={{ left: at(low), width: `${(placeOn(scale, high) - placeOn(scale, low)) * 100}%` }}
        />
      )}
      {value !== null && (
        <span className={styles.dot} data-hollow={reference !== '' || undefined} style={{ left: at(value) }} />
      )}
    </span>
  )
}
