import type { Schema } from '../api/paths'
import { count, exact, interval, measure } from '../format'
import { Icon } from './Icon'
import { IntervalBar } from './IntervalBar'
import styles from './Score.module.css'

/** A metric of a run and how much of it to show. */
export interface ScoreProps {
  metric: Schema<'MetricDocument'> | null | undefined
  /** `line`: value, interval and n in one line; `value`: the value and whether anything is missing; `bar`: value and bar. */
  show?: 'line' | 'value' | 'bar'
  scale?: readonly [number, number]
}

/** A score as `value [low, high] n=scored/planned`, with a mark when values are missing. */
export function Score({ metric, show = 'line', scale }: ScoreProps) {
  if (!metric) return <span className="muted">–</span>
  const missing = metric.n_planned - metric.n_scored
  return (
    <span className={styles.score} title={inFull(metric)}>
      <span className={styles.value}>{measure(metric.value)}</span>
      {show === 'bar' && (
        <IntervalBar value={metric.value} low={metric.low} high={metric.high} scale={scale} label={metric.name} />
      )}
      {show === 'line' && (
        <>
          <span className={styles.range}>{interval(metric.low, metric.high)}</span>
          <span className={styles.n}>
            n={count(metric.n_scored)}/{count(metric.n_planned)}
          </span>
        </>
      )}
      {missing > 0 && (
        <span className={styles.missing}>
          <Icon name="warning" size={13} label={`${count(missing)} of ${count(metric.n_planned)} without a value`} />
        </span>
      )}
    </span>
  )
}

function inFull(metric: Schema<'MetricDocument'>): string {
  const parts = [`${metric.name}: ${exact(metric.value)}`]
  if (metric.low != null && metric.high != null) {
    parts.push(`${metric.level * 100} % interval ${metric.low} to ${metric.high} (${metric.method})`)
  }
  parts.push(`${count(metric.n_scored)} of ${count(metric.n_planned)} planned have a value`)
  return parts.join('\n')
}
