import { Score } from '../parts/Score'
import type { Run } from './page'
import styles from './RunList.module.css'
import type { Scale } from './scale'

/** The primary score with its interval, on the scale of all runs of the same benchmark. */
export function RunScore({ run, scale }: { run: Run; scale: Scale | undefined }) {
  const { primary } = run
  if (primary === null || primary.n_scored === 0) return <span className={styles.second}>{whyNone(run)}</span>
  return <Score metric={primary} show="stack" scale={scale} going={run.state === 'running'} />
}

function whyNone(run: Run): string {
  if (run.state === 'pending') return 'not started'
  if (run.state === 'running') return 'no score yet'
  const causes = Object.keys(run.primary?.missing ?? {})
  return causes.length > 0 ? `no score: ${causes.join(', ').replaceAll('_', ' ')}` : 'no score'
}
