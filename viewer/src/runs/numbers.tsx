/** Numbers of a run in columns of their own: how many are scored, how many ended in an error, the interval. */
import type { Schema } from '../api/types'
import { count, measure, plural } from '../format'
import { Icon } from '../parts/Icon'
import styles from './numbers.module.css'
import type { Run } from './page'

/** An interval as `0.322 – 0.373`; empty without one. */
export function rangeWords(metric: Pick<Schema<'MetricDocument'>, 'low' | 'high'> | null): string {
  if (metric === null || metric.low === null || metric.high === null) return ''
  return `${measure(metric.low)} – ${measure(metric.high)}`
}

/** The number of scored episodes, of the planned ones where some have no score: `240/300`. */
export function Scored({ run }: { run: Run }) {
  const scored = run.primary?.n_scored ?? 0
  const planned = run.primary?.n_planned ?? run.counts.planned
  const words = `${count(scored)} of ${plural(planned, 'planned episode')} scored`
  return (
    <span className="number" data-tip={words}>
      {count(scored)}
      {scored < planned && <span className="muted">/{count(planned)}</span>}
    </span>
  )
}

/** Episodes that ended without a measurement, marked where there are any. */
export function Errors({ run }: { run: Run }) {
  const { errors } = run.counts
  if (errors === 0) return <span className="number muted">0</span>
  return (
    <span
      className={styles.errors}
      data-tip={`${plural(errors, 'episode')} ended in an error and ${errors === 1 ? 'is' : 'are'} not scored`}
    >
      <Icon name="warning" size={13} />
      {count(errors)}
    </span>
  )
}
