import { Link } from '@tanstack/react-router'
import type { Schema } from '../api/types'
import { Badge } from '../parts/Badge'
import styles from '../parts/panels.module.css'
import { When } from '../parts/When'
import { Markdown } from '../renderers/Markdown'
import { CheckBadge } from './CheckBadge'
import { EnvironmentStatus } from './EnvironmentStatus'

/** Environments as cards. */
export function EnvironmentList({ environments }: { environments: readonly Schema<'SubmittedEnvironment'>[] }) {
  return (
    <ul className={styles.list}>
      {environments.map((one) => (
        <li key={one.id} className={styles.item}>
          <div className={styles.itemHead}>
            <Link to="/environments/$environmentId" params={{ environmentId: one.id }}>
              <bdi>{one.name}</bdi>
            </Link>
            <EnvironmentStatus status={one.status} stage={one.stage} />
          </div>
          {one.description && (
            <div className={styles.words}>
              <Markdown text={one.description} links />
            </div>
          )}
          {one.status === 'failed' && one.error_message && <p className={styles.words}>{one.error_message}</p>}
          <p className={styles.facts}>
            <span className="number">version {one.submission_version}</span>
            <span>
              submitted <When at={one.resubmitted_at ?? one.created_at} />
            </span>
            {one.scope === 'team' && <Badge>team</Badge>}
            {one.check && <CheckBadge state={one.check.state ?? 'unchecked'} problems={one.check.problems} />}
          </p>
        </li>
      ))}
    </ul>
  )
}
