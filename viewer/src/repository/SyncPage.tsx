import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { documentQuery, useDocument } from '../api/query'
import type { Schema } from '../api/types'
import { plural, sentence } from '../format'
import { CopyButton } from '../parts/CopyButton'
import { Loaded } from '../parts/Loaded'
import { Page } from '../parts/Page'
import { Panel } from '../parts/Panel'
import panels from '../parts/panels.module.css'
import { SourceLink } from '../parts/SourceLink'
import { When } from '../parts/When'
import { WorkspaceNav } from '../workspaces/WorkspaceNav'
import { WorkspaceTrail } from '../workspaces/WorkspaceTrail'
import { FaultList } from './FaultList'
import { Holdings } from './Holdings'
import { commitAddress, withCredentialForm } from './places'
import styles from './repository.module.css'
import { SyncBadge } from './SyncBadge'

type Sync = Schema<'SyncDocument'>

const LOOK_AGAIN = 1_000
const CAUSES: Record<Sync['trigger'], string> = {
  push: 'after a push',
  poll: 'found by asking for new commits',
  hand: 'asked for by hand',
  submit: 'for a run',
}

/** One sync: its commit, what was found in it, and what to mend. */
export function SyncPage() {
  const { workspaceId, number } = useParams({ from: '/workspaces/$workspaceId/repository/syncs/$number' })
  const workspace = useDocument('/api/workspaces/{workspace}', { params: { workspace: workspaceId } })
  const repository = useDocument('/api/workspaces/{workspace}/repository', { params: { workspace: workspaceId } })
  const detail = useQuery({
    ...documentQuery('/api/workspaces/{workspace}/syncs/{number}', {
      params: { workspace: workspaceId, number: Number(number) },
    }),
    refetchInterval: ({ state }) =>
      state.data && ['pending', 'syncing'].includes(state.data.sync.status) ? LOOK_AGAIN : false,
  })
  const sync = detail.data?.sync
  const subject = sync?.message.split('\n', 1)[0]
  return (
    <Page
      title={subject || `Sync ${number}`}
      heading={<bdi>{subject || `Sync ${number}`}</bdi>}
      trail={<WorkspaceTrail workspace={workspace.data} repository />}
      aside={sync && <SyncBadge sync={sync} />}
    >
      <WorkspaceNav workspaceId={workspaceId} />
      <Loaded query={detail} title="This sync could not be loaded">
        {(found) => <SyncView workspaceId={workspaceId} detail={found} repository={repository.data} />}
      </Loaded>
    </Page>
  )
}

function SyncView({
  workspaceId,
  detail,
  repository,
}: {
  workspaceId: string
  detail: Schema<'SyncDetail'>
  repository: Schema<'RepositoryDocument'> | undefined
}) {
  const { sync, faults, rollouts, configurations } = detail
  const body = sync.message.split('\n').slice(1).join('\n').trim()
  return (
    <>
      <Facts sync={sync} repository={repository} />
      {body && <p className={styles.message}>{body}</p>}
      {sync.error && (
        <Panel title="Why it failed">
          <p className={panels.wrong}>
            <bdi>{sentence(withCredentialForm(sync.error))}</bdi>
          </p>
        </Panel>
      )}
      {!sync.ended_at && (
        <Panel title={sync.started_at ? 'Syncing' : 'Waiting'}>
          <p role="status">
            A worker of the server fetches the commit and checks what is in it. This page shows the result as soon as
            there is one.
          </p>
        </Panel>
      )}
      {faults.length > 0 && (
        <Panel title="To mend" note={plural(faults.length, 'fault')}>
          <FaultList faults={faults} />
        </Panel>
      )}
      {rollouts.length + configurations.length > 0 && (
        <Panel title="Found" flush>
          <Holdings workspaceId={workspaceId} detail={detail} />
        </Panel>
      )}
    </>
  )
}

function Facts({ sync, repository }: { sync: Sync; repository: Schema<'RepositoryDocument'> | undefined }) {
  const { number, commit, branch, author, committed_at, trigger, created_at } = sync
  const address = repository ? commitAddress(repository, commit) : ''
  return (
    <p className={panels.facts}>
      {commit && (
        <span className={panels.actions}>
          commit <SourceLink source={address}>{commit.slice(0, 12)}</SourceLink>
          <CopyButton text={commit} label="Copy the commit" />
        </span>
      )}
      {branch && (
        <span>
          branch <bdi>{branch}</bdi>
        </span>
      )}
      {author && (
        <span>
          by <bdi>{author}</bdi>
          {committed_at && (
            <>
              {', '}
              <When at={committed_at} />
            </>
          )}
        </span>
      )}
      <span>
        sync {number}, {CAUSES[trigger]} <When at={created_at} />
      </span>
    </p>
  )
}
