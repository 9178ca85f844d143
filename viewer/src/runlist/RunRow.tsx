import { Link } from '@tanstack/react-router'
import type { Schema } from '../api/types'
import { Progress } from '../parts/Progress'
import { Status } from '../parts/Status'
import { When } from '../parts/When'
import { OfficialBadge } from './OfficialBadge'
import styles from './RunRow.module.css'
import { RunScore } from './RunScore'
import { VisibilityBadge } from './VisibilityBadge'

/** A run of a list; what a single run does not have may be missing. */
export type ListedRun = Schema<'Run'> & Partial<Schema<'RunListItem'>>

/** Columns that can be left out. */
export type Optional = 'domain' | 'owner' | 'visibility'

/** A run with its state, score and owner. */
export function RunRow({ run, shown }: { run: ListedRun; shown: (column: Optional) => boolean }) {
  return (
    <tr>
      <th scope="row">
        <Link to="/runs/$runId" params={{ runId: run.id }} title={run.name || run.config.agent_config.model}>
          <bdi>{run.name || run.config.agent_config.model}</bdi>
        </Link>
        {run.name && <div className={styles.model}>{run.config.agent_config.model}</div>}
        <div className={styles.mark}>
          <OfficialBadge protocol={run.protocol} />
        </div>
      </th>
      {shown('domain') && (
        <td>
          <Link to="/domains/$domainId" params={{ domainId: run.config.domain_id }}>
            <bdi>{run.domain_name || run.config.domain_id.slice(0, 8)}</bdi>
          </Link>
        </td>
      )}
      <td>
        <Status state={run.stopped ? 'stopped' : (run.status ?? 'pending')} />
      </td>
      <td data-numeric data-breaks>
        <RunScore run={run} />
      </td>
      <td data-minor>
        <Progress
          done={(run.finished ?? 0) - (run.failed ?? 0)}
          failed={run.failed ?? 0}
          total={run.planned || run.config.num_episodes || 0}
          numbers
        />
      </td>
      {shown('owner') && (
        <td data-minor>
          <bdi>{run.actor_username ?? (run.actor_type === 'guest' ? 'a guest' : 'a member')}</bdi>
        </td>
      )}
      {shown('visibility') && (
        <td data-minor>
          <VisibilityBadge visibility={run.visibility ?? 'private'} team={run.team_id} />
        </td>
      )}
      <td data-minor>
        <When at={run.created_at} />
      </td>
    </tr>
  )
}
