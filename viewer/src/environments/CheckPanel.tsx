import type { Schema } from '../api/types'
import { Panel } from '../parts/Panel'
import styles from '../parts/panels.module.css'
import { CheckBadge } from './CheckBadge'

/** The verdict of the author's check, with everything that was found wrong. */
export function CheckPanel({ check }: { check: Schema<'EnvironmentCheck'> }) {
  const problems = check.problems ?? []
  const state = check.state ?? 'unchecked'
  return (
    <Panel title="Check">
      <div className={styles.stack}>
        <p>
          <CheckBadge state={state} />
        </p>
        <p className="muted">
          {state === 'unchecked' ? 'The author submitted no result of mesocosm check.' : check.summary}
        </p>
        {problems.length > 0 && (
          <ul>
            {problems.map((problem) => (
              <li key={problem}>
                <bdi>{problem}</bdi>
              </li>
            ))}
          </ul>
        )}
      </div>
    </Panel>
  )
}
