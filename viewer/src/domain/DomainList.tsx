import { Link } from '@tanstack/react-router'
import type { Schema } from '../api/types'
import { CheckBadge } from '../environments/CheckBadge'
import { Badge } from '../parts/Badge'
import styles from '../parts/panels.module.css'

/** Domains as cards. */
export function DomainList({ domains }: { domains: readonly Schema<'Domain'>[] }) {
  return (
    <ul className={styles.list}>
      {domains.map((one) => (
        <li key={one.id} className={styles.item}>
          <div className={styles.itemHead}>
            <Link to="/domains/$domainId" params={{ domainId: one.id }}>
              <bdi>{one.name}</bdi>
            </Link>
            {one.status !== 'published' && <Badge>{one.status}</Badge>}
            {(one.check?.state === 'failed' || one.check?.state === 'outdated') && (
              <CheckBadge state={one.check.state} problems={one.check.problems} />
            )}
          </div>
          {one.detail && <p className={styles.words}>{one.detail}</p>}
          <p className={styles.facts}>
            <span>vow {one.binding_vow.version}</span>
            <span>{one.scoring.primary_metric}</span>
            {one.tags?.slice(0, 4).map((tag) => (
              <Badge key={tag}>{tag}</Badge>
            ))}
          </p>
        </li>
      ))}
    </ul>
  )
}
