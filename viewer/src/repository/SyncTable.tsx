import { Link } from '@tanstack/react-router'
import type { Schema } from '../api/types'
import { plural, sentence } from '../format'
import { Duration } from '../parts/Duration'
import { PlainTable } from '../parts/PlainTable'
import { When } from '../parts/When'
import { withCredentialForm } from './places'
import styles from './repository.module.css'
import { SyncBadge } from './SyncBadge'

type Sync = Schema<'SyncDocument'>

/** The syncs of a workspace, newest first. */
interface SyncTableProps {
  workspaceId: string
  syncs: readonly Sync[]
}

/** What was fetched, when, and what came of it. */
export function SyncTable({ workspaceId, syncs }: SyncTableProps) {
  return (
    <PlainTable label="Table of syncs" className={styles.syncs}>
      <thead>
        <tr>
          <th scope="col">Commit</th>
          <th scope="col">State</th>
          <th scope="col" data-minor>
            When
          </th>
          <th scope="col">Result</th>
          <th scope="col" data-numeric data-minor>
            Took
          </th>
        </tr>
      </thead>
      <tbody>
        {syncs.map((sync) => (
          <tr key={sync.number}>
            <th scope="row">
              <SyncLink workspaceId={workspaceId} sync={sync} />
              <span className={styles.origin}>{[sync.author, sync.branch].filter(Boolean).join(', ')}</span>
            </th>
            <td>
              <SyncBadge sync={sync} />
            </td>
            <td data-minor>
              <When at={sync.created_at} />
            </td>
            <td data-breaks>
              <span className={styles.result}>{resultOf(sync)}</span>
            </td>
            <td data-numeric data-minor>
              <Duration seconds={secondsOf(sync)} />
            </td>
          </tr>
        ))}
      </tbody>
    </PlainTable>
  )
}

function SyncLink({ workspaceId, sync }: { workspaceId: string; sync: Sync }) {
  const subject = sync.message.split('\n', 1)[0]
  return (
    <Link
      to="/workspaces/$workspaceId/repository/syncs/$number"
      params={{ workspaceId, number: String(sync.number) }}
      data-full={subject || `Sync ${sync.number}`}
    >
      {sync.commit ? <code>{sync.commit.slice(0, 7)}</code> : `Sync ${sync.number}`} <bdi>{subject}</bdi>
    </Link>
  )
}

/** What came of a sync in a few words. */
function resultOf(sync: Sync): string {
  if (sync.error) return sentence(withCredentialForm(sync.error))
  if (sync.status !== 'success') return '–'
  const found = `${plural(sync.rollouts, 'rollout')}, ${plural(sync.configurations, 'configuration')}`
  return sync.faults > 0 ? `${found}, ${sync.faults} to mend` : found
}

/** How long a sync was worked on; null while it is not over. */
function secondsOf({ started_at, ended_at }: Sync): number | null {
  return started_at && ended_at ? (Date.parse(ended_at) - Date.parse(started_at)) / 1000 : null
}
