import type { Schema } from '../api/types'
import { measure } from '../format'
import { Badge } from '../parts/Badge'
import styles from './reviews.module.css'

/** What the graders say of an episode. */
export function GraderList({ graders, title }: { graders: readonly Schema<'GraderWord'>[]; title: string }) {
  if (graders.length === 0) return null
  return (
    <div className={styles.graders} role="note">
      <span className={styles.name}>{title}</span>
      <ul>
        {graders.map((grader) => (
          <li key={grader.name}>
            {grader.passed === null ? (
              <Badge tone="idle">{measure(grader.value)}</Badge>
            ) : (
              <Badge tone={grader.passed ? 'good' : 'bad'} icon={grader.passed ? 'check' : 'close'}>
                {grader.passed ? 'Right' : 'Wrong'}
              </Badge>
            )}{' '}
            <bdi>{grader.name}</bdi>
            {grader.explanation !== '' && <span className="muted" dir="auto">{`: ${grader.explanation}`}</span>}
          </li>
        ))}
      </ul>
    </div>
  )
}
