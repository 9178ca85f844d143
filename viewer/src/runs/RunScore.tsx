import { exact, measure } from '../format'
import type { Run } from './page'
import styles from './RunList.module.css'

/** The primary score; what stands there instead says why there is none. */
export function RunScore({ run }: { run: Run }) {
  const { primary } = run
  if (primary === null || primary.n_scored === 0) {
    return (
      <span className={styles.none} data-tip={whyNone(run)}>
        {run.state === 'pending' || run.state === 'running' ? '–' : 'no score'}
      </span>
    )
  }
  return (
    <strong className={styles.score} data-tip={`${primary.name}: ${exact(primary.value)}`}>
      {measure(primary.value)}
    </strong>
  )
}

function whyNone(run: Run): string {
  if (run.state === 'pending') return 'Not started'
  if (run.state === 'running') return 'No score yet'
  const causes = Object.keys(run.primary?.missing ?? {})
  return causes.length > 0 ? `No score: ${causes.join(', ').replaceAll('_', ' ')}` : 'No score'
}
