import type { Schema } from '../api/types'
import { compact, count, exact, interval, measure } from '../format'
import { Icon } from './Icon'
import { IntervalBar } from './IntervalBar'
import styles from './Score.module.css'

/** A metric of a run and how much of it to show. */
interface ScoreProps {
  metric: Schema<'MetricDocument'> | null | undefined
  /**
   * `line`: value, interval and n in one line; `value`: the value and whether anything is missing; `bar`: value and bar;
   * `stack`: value and interval above bar and n.
   */
  show?: 'line' | 'value' | 'bar' | 'stack'
  scale?: readonly [number, number]
  /** More values are still to come, so that none is missing yet. */
  going?: boolean
}

/** A score as `value [low, high] n=scored/planned`, with a mark when values are missing. */
export function Score({ metric, show = 'line', scale, going = false }: ScoreProps) {
  if (!metric) return <span className="muted">–</span>
  // Bars of several rows are only comparable when what is beside them is always equally wide.
  const amount = show === 'stack' && metric.n_planned >= 10_000 ? compact : count
  const bar = <IntervalBar value={metric.value} low={metric.low} high={metric.high} scale={scale} label={metric.name} />
  const range = <span className={styles.range}>{interval(metric.low, metric.high, metric.weak)}</span>
  const n = (
    <span className={styles.n}>
      n={amount(metric.n_scored)}/{amount(metric.n_planned)}
    </span>
  )
  const first = (
    <span className={styles.score} data-tip={inFull(metric)}>
      <span className={styles.value}>{measure(metric.value)}</span>
      {show === 'bar' && bar}
      {(show === 'line' || show === 'stack') && range}
      {show === 'line' && n}
      {!going && <Missing metric={metric} />}
    </span>
  )
  if (show !== 'stack') return first
  return (
    <span className={styles.stack} data-tip={inFull(metric)}>
      {first}
      <span className={styles.score}>
        {bar}
        {n}
      </span>
    </span>
  )
}

function Missing({ metric }: { metric: Schema<'MetricDocument'> }) {
  const missing = metric.n_planned - metric.n_scored
  if (missing <= 0) return null
  const causes = Object.entries(metric.missing).map(([cause, n]) => `${cause.replaceAll('_', ' ')} ${count(n)}`)
  const words = [`${count(missing)} of ${count(metric.n_planned)} have no value`, ...causes].join(', ')
  return (
    <span className={styles.missing} data-tip={words}>
      <Icon name="warning" size={13} label={words} />
    </span>
  )
}

function inFull(metric: Schema<'MetricDocument'>): string {
  const parts = [`${metric.name}: ${exact(metric.value)}`]
  if (metric.low != null && metric.high != null) {
    parts.push(
      `${metric.level * 100}% interval ${metric.low} to ${metric.high} (${metric.method}${metric.weak ? ', weak: few values' : ''})`,
    )
  }
  parts.push(`${count(metric.n_scored)} of ${count(metric.n_planned)} planned have a value`)
  return parts.join('\n')
}
