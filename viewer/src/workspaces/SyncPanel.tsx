import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { post } from '../api/client'
import { ApiError } from '../api/error'
import { documentQuery } from '../api/query'
import type { Schema } from '../api/types'
import { sentence } from '../format'
import { Command } from '../parts/Command'
import { LinkButton } from '../parts/LinkButton'
import { Loaded } from '../parts/Loaded'
import { Panel } from '../parts/Panel'
import styles from '../parts/panels.module.css'
import { TextButton } from '../parts/TextButton'
import { useChange } from '../parts/useChange'
import { When } from '../parts/When'
import { withCredentialForm } from '../repository/places'
import { SyncBadge } from '../repository/SyncBadge'

const SOON_MS = 1_500
const LATER_MS = 30_000

interface SyncPanelProps {
  workspaceId: string
  /** Whether the user may sync, and may connect a repository. */
  works: boolean
  manages: boolean
}

/** The repository of a workspace and how its last sync went. */
export function SyncPanel({ workspaceId, works, manages }: SyncPanelProps) {
  const params = { workspace: workspaceId }
  const repository = useQuery(documentQuery('/api/workspaces/{workspace}/repository', { params }))
  const syncs = useQuery({
    ...documentQuery('/api/workspaces/{workspace}/syncs', { params, query: { limit: 1 } }),
    refetchInterval: ({ state }) => (state.data?.some(({ ended_at }) => !ended_at) ? SOON_MS : LATER_MS),
  })
  const sync = useChange(() =>
    post('/api/workspaces/{workspace}/syncs', { params, body: { branch: '', commit: '', reuse: false } }),
  )
  if (repository.error instanceof ApiError && repository.error.status === 404)
    return (
      <Panel title="Repository">
        <div className={styles.stack}>
          <p className="muted">
            {manages ? 'Connect the repository that has your rollouts.' : 'Admins of the workspace connect one.'}
          </p>
          {manages && (
            <div className={styles.actions}>
              <LinkButton to="/workspaces/$workspaceId/repository" params={{ workspaceId }} look="primary">
                Connect a repository
              </LinkButton>
            </div>
          )}
          <Command>mesocosm workspace connect</Command>
        </div>
      </Panel>
    )
  const [last] = syncs.data ?? []
  return (
    <Panel
      title="Repository"
      actions={
        works &&
        repository.data && (
          <TextButton disabled={sync.isPending} onClick={() => sync.mutate(undefined)}>
            Sync now
          </TextButton>
        )
      }
    >
      <Loaded query={repository} title="The repository could not be loaded" height="4rem">
        {(found) => (
          <div className={styles.stack}>
            <p className={styles.facts}>
              <Link to="/workspaces/$workspaceId/repository" params={{ workspaceId }}>
                <bdi>{found.identity}</bdi>
              </Link>
              <span>
                branch <bdi>{found.branch || 'the default one'}</bdi>
              </span>
            </p>
            {last && <LastSync workspaceId={workspaceId} sync={last} />}
            {found.error && (
              <p className={styles.wrong}>
                <bdi>{sentence(withCredentialForm(found.error))}</bdi>
              </p>
            )}
          </div>
        )}
      </Loaded>
    </Panel>
  )
}

function LastSync({ workspaceId, sync }: { workspaceId: string; sync: Schema<'SyncDocument'> }) {
  const subject = sync.message.split('\n', 1)[0]
  return (
    <>
      <p className={styles.facts}>
        <SyncBadge sync={sync} />
        <Link
          to="/workspaces/$workspaceId/repository/syncs/$number"
          params={{ workspaceId, number: String(sync.number) }}
        >
          {sync.commit ? <code>{sync.commit.slice(0, 7)}</code> : `sync ${sync.number}`} <bdi>{subject}</bdi>
        </Link>
        <When at={sync.ended_at ?? sync.created_at} />
      </p>
      {sync.error && (
        <p className={styles.wrong}>
          <bdi>{sentence(withCredentialForm(sync.error))}</bdi>
        </p>
      )}
    </>
  )
}
