/** A metric with its interval, as number and bar, and in words what it counts. */

import type { Schema } from '../../api/types'
import { count, exact, interval, measure, plural } from '../../format'
import { IntervalBar } from '../../parts/IntervalBar'
import { hasTwoReadings, methodWords } from '../headline'
import styles from './results.module.css'

export function MetricReading({ metric, going = false }: { metric: Schema<'MetricDocument'>; going?: boolean }) {
  const { value, low, high, weak } = metric
  if (value === null) return <p className="muted">No value yet.</p>
  const ends = [value, low ?? value, high ?? value]
  return (
    <>
      <p className={styles.reading}>
        <strong data-tip={exact(value)}>{measure(value)}</strong>{' '}
        <span className="muted" data-tip={methodWords(metric)}>
          {interval(low, high, weak) || 'no interval'}
        </span>
      </p>
      <IntervalBar
        value={value}
        low={low}
        high={high}
        scale={[Math.min(0, ...ends), Math.max(1, ...ends)]}
        label={metric.name}
      />
      <ul className={styles.words}>
        <li>
          Includes {count(metric.n_scored)} of {plural(metric.n_planned, 'planned sample')}
          {metric.n_worst > 0 && `, ${count(metric.n_worst)} of them failures counted as worst`}.
        </li>
        {!going && hasTwoReadings(metric) && (
          <li>
            With missing samples counted as worst: {measure(metric.pessimistic)}{' '}
            {interval(metric.pessimistic_low, metric.pessimistic_high, metric.weak)}.
          </li>
        )}
      </ul>
    </>
  )
}
