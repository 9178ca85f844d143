import type { Schema } from '../api/types'
import { count, exact, interval, measure } from '../format'

/** The primary score of a run with its interval and the number of episodes behind it. */
export function RunScore({ run }: { run: Schema<'Run'> }) {
  const metric = run.metrics?.find((one) => one.primary) ?? run.metrics?.[0]
  if (!metric || metric.value === null || metric.value === undefined) return <span className="muted">–</span>
  const words = `${metric.name}: ${exact(metric.value)}; ${count(metric.n_scored)} of ${count(metric.n_planned)} episodes have a value`
  return (
    <span title={words}>
      <strong className="number">{measure(metric.value)}</strong>{' '}
      <span className="muted number">{interval(metric.low, metric.high)}</span>{' '}
      <span className="muted number">
        n={count(metric.n_scored)}/{count(metric.n_planned)}
      </span>
    </span>
  )
}
