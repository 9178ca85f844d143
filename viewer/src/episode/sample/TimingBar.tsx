/** How long a sample waited, was worked on and was graded. */

import { duration, exact } from '../../format'
import type { Timing } from './facts'
import styles from './sample.module.css'

const STAGES = [
  { id: 'queued', label: 'Queued' },
  { id: 'workflow', label: 'Workflow' },
  { id: 'grader', label: 'Grader' },
] as const

export function TimingBar({ timing }: { timing: Timing }) {
  const total = timing.queued + timing.workflow + timing.grader || 1
  return (
    <>
      <div className={styles.timing} aria-hidden="true">
        {STAGES.map(({ id }) => (
          <span key={id} data-stage={id} style={{ flexGrow: timing[id] / total }} />
        ))}
      </div>
      <dl className={styles.stages}>
        {STAGES.map(({ id, label }) => (
          <div key={id} data-stage={id}>
            <dt>{label}</dt>
            <dd data-tip={exact(timing[id], 's')}>{duration(timing[id])}</dd>
          </div>
        ))}
      </dl>
    </>
  )
}
