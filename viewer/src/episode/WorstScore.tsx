import { useDocument } from '../api/query'
import { MISSING } from '../format'
import styles from './head.module.css'

/** A score that the agent's own failure took: the worst value, where the metric has one. */
export function WorstScore({ name, runId }: { name: string; runId: string }) {
  const { data } = useDocument('/api/runs/{run_id}', { params: { run_id: runId } })
  const metric = data?.metrics.find((one) => one.name === name || one.name === `mean_${name}`)
  // The run counts failures as worst in every metric that has a worst value.
  if (metric && metric.n_worst === 0 && metric.worst_value === null) {
    return (
      <span className="muted" data-tip="caused by the agent; this metric has no worst value, so it is not counted">
        {MISSING}
      </span>
    )
  }
  return (
    <span className={styles.worst} data-tip="caused by the agent, so it counts as the worst value">
      {' '}
      worst value
    </span>
  )
}
