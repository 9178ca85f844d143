import { count, percent } from '../format'
import { Progress } from '../parts/Progress'
import { Status } from '../parts/Status'
import { clip } from './clip'
import type { Run } from './page'
import { countWords, doneShare, leftWords, secondsLeft } from './progress'
import styles from './RunList.module.css'

/** The state of a run, and how far it is while it goes on. */
export function RunState({ run }: { run: Run }) {
  const { counts } = run
  const left = secondsLeft(run)
  const going = run.state === 'running' || run.state === 'pending'
  return (
    <span className={styles.lines} title={[countWords(run), clip(run.error, 1_000)].filter(Boolean).join('\n')}>
      <span className={styles.stateLine}>
        <Status state={run.state} stopping={run.stop_requested} />
      </span>
      {going ? (
        <span className={styles.stateLine}>
          <Progress done={counts.done - counts.failed} failed={counts.failed} total={counts.planned} />
          {left !== null && <span className={styles.left}>{leftWords(left)}</span>}
        </span>
      ) : (
        <span className={styles.second}>{outcome(run)}</span>
      )}
    </span>
  )
}

function outcome(run: Run): string {
  const { counts, error } = run
  const failed = counts.failed > 0 ? `${count(counts.failed)} failed` : ''
  if (run.state === 'finished') return failed
  if (counts.done === 0) return clip(error) || 'no episodes played'
  const share = doneShare(run)
  return [share < 1 && `${percent(share)} done`, failed].filter(Boolean).join(', ')
}
