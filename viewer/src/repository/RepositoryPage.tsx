import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { del, get, post } from '../api/client'
import { ApiError } from '../api/error'
import { documentQuery, useDocument } from '../api/query'
import type { Schema } from '../api/types'
import { sentence } from '../format'
import { useShortcut } from '../keys/useShortcut'
import { Button } from '../parts/Button'
import { ConfirmDialog } from '../parts/ConfirmDialog'
import { Empty } from '../parts/Empty'
import { Key } from '../parts/Key'
import { Listed } from '../parts/Listed'
import { Loaded } from '../parts/Loaded'
import { Page } from '../parts/Page'
import { Panel } from '../parts/Panel'
import styles from '../parts/panels.module.css'
import { SourceLink } from '../parts/SourceLink'
import { useChange } from '../parts/useChange'
import { type Pages, usePages } from '../parts/usePages'
import { When } from '../parts/When'
import { useMe } from '../session/useMe'
import { mayAs } from '../workspaces/roles'
import { WorkspaceNav } from '../workspaces/WorkspaceNav'
import { WorkspaceTrail } from '../workspaces/WorkspaceTrail'
import { ConnectForm } from './ConnectForm'
import { CredentialPanel } from './CredentialPanel'
import { Holdings } from './Holdings'
import { HookPanel } from './HookPanel'
import { webAddress, withCredentialForm } from './places'
import { SyncBadge } from './SyncBadge'
import { SyncTable } from './SyncTable'

type Workspace = Schema<'WorkspaceDocument'>
type Repository = Schema<'RepositoryDocument'>
type Sync = Schema<'SyncDocument'>

const LOOK_AGAIN = 1_500
const PAGE = 20

/** The repository of a workspace: what it holds, and how it was synced. */
export function RepositoryPage() {
  const { workspaceId } = useParams({ from: '/workspaces/$workspaceId/repository' })
  const workspace = useDocument('/api/workspaces/{workspace}', { params: { workspace: workspaceId } })
  const repository = useQuery({
    ...documentQuery('/api/workspaces/{workspace}/repository', { params: { workspace: workspaceId } }),
    // The first sync finds the default branch.
    refetchInterval: ({ state }) => (state.data?.branch === '' ? LOOK_AGAIN : false),
  })
  const none = repository.error instanceof ApiError && repository.error.status === 404
  if (workspace.data && repository.data && !none)
    return <ConnectedView workspace={workspace.data} repository={repository.data} />
  return (
    <Page
      title={workspace.data ? `Repository of ${workspace.data.name}` : 'Repository'}
      heading="Repository"
      trail={<WorkspaceTrail workspace={workspace.data} />}
      note="The rollouts and configurations of a workspace come from a Git repository."
    >
      <WorkspaceNav workspaceId={workspaceId} />
      <Loaded query={workspace} title="This workspace could not be loaded">
        {(found) =>
          none ? (
            <Unconnected workspace={found} />
          ) : (
            <Loaded query={repository} title="The repository could not be loaded">
              {() => null}
            </Loaded>
          )
        }
      </Loaded>
    </Page>
  )
}

function Unconnected({ workspace }: { workspace: Workspace }) {
  const manages = mayAs('admin', workspace, useMe())
  return (
    <>
      <Empty title="No repository yet" command="mesocosm workspace connect">
        {manages ? 'Connect one here, or in a clone of it in the terminal.' : 'Admins of the workspace connect it.'}{' '}
        Without one, <code>mesocosm workspace upload</code> uploads what is on your disk.
      </Empty>
      {manages && (
        <Panel title="Connect a repository">
          <ConnectForm workspaceId={workspace.id} />
        </Panel>
      )}
    </>
  )
}

function ConnectedView({ workspace, repository }: { workspace: Workspace; repository: Repository }) {
  const me = useMe()
  const path = '/api/workspaces/{workspace}/syncs'
  const params = { workspace: workspace.id }
  const syncs = usePages<Sync>({
    key: [path, params],
    read: (cursor, signal) =>
      get(path, { params, query: { limit: PAGE, ...(cursor && { cursor: Number(cursor) }) }, signal }),
    cursorOf: ({ number }) => String(number),
    size: PAGE,
    again: (found) => (found.some(isGoing) ? LOOK_AGAIN : false),
  })
  const sync = useChange(() => post(path, { params, body: { branch: '', commit: '', reuse: false } }))
  const works = mayAs('member', workspace, me)
  const manages = mayAs('admin', workspace, me)
  useShortcut('y', 'Sync now', () => sync.mutate(undefined), { enabled: works && !sync.isPending })
  const last = syncs.items?.find(({ branch }) => branch === repository.branch || repository.branch === '')
  return (
    <Page
      title={`Repository of ${workspace.name}`}
      heading="Repository"
      trail={<WorkspaceTrail workspace={workspace} />}
      aside={last && <SyncBadge sync={last} />}
      actions={
        <>
          {manages && <Disconnect workspace={workspace} repository={repository} />}
          {works && (
            <Button look="primary" icon="refresh" busy={sync.isPending} onClick={() => sync.mutate(undefined)}>
              Sync now <Key keys="y" />
            </Button>
          )}
        </>
      }
    >
      <WorkspaceNav workspaceId={workspace.id} />
      <Facts repository={repository} />
      <Trouble repository={repository} />
      <div className={styles.columns}>
        <div className={styles.stack}>
          <Newest workspaceId={workspace.id} repository={repository} syncs={syncs} />
          <Panel title="Sync history" flush>
            <Listed pages={syncs} title="The syncs could not be loaded">
              {(found) => <SyncTable workspaceId={workspace.id} syncs={found} />}
            </Listed>
          </Panel>
        </div>
        {manages && (
          <div className={styles.stack}>
            {!repository.url.startsWith('/') && <CredentialPanel workspaceId={workspace.id} repository={repository} />}
            <HookPanel workspaceId={workspace.id} />
          </div>
        )}
      </div>
    </Page>
  )
}

function Facts({ repository }: { repository: Repository }) {
  const { identity, folder, branch, checked_at, statuses } = repository
  return (
    <p className={styles.facts}>
      <span>
        <SourceLink source={webAddress(repository)}>{identity}</SourceLink>
      </span>
      {folder && (
        <span>
          folder <bdi>{folder}</bdi>
        </span>
      )}
      <span>
        branch <bdi>{branch || 'the default one'}</bdi>
      </span>
      {checked_at && (
        <span>
          asked for new commits <When at={checked_at} />
        </span>
      )}
      {statuses && <span>commit statuses are set</span>}
    </p>
  )
}

/** What went wrong between syncs: when the host was asked for commits, or told of a run. */
function Trouble({ repository: { error, status_error } }: { repository: Repository }) {
  const told = [error, status_error].filter(Boolean)
  if (told.length === 0) return null
  return (
    <ul className={styles.rows} aria-label="Problems">
      {told.map((words) => (
        <li key={words} className={styles.wrong}>
          <bdi>{sentence(withCredentialForm(words))}</bdi>
        </li>
      ))}
    </ul>
  )
}

/** What the newest synced commit of the followed branch holds. */
function Newest({
  workspaceId,
  repository,
  syncs,
}: {
  workspaceId: string
  repository: Repository
  syncs: Pages<Sync>
}) {
  const newest = syncs.items?.find(({ status, branch }) => status === 'success' && branch === repository.branch)
  const detail = useQuery({
    ...documentQuery('/api/workspaces/{workspace}/syncs/{number}', {
      params: { workspace: workspaceId, number: newest?.number ?? 0 },
    }),
    enabled: newest !== undefined,
  })
  if (!newest) return null
  return (
    <Panel title="What it holds" note={`at ${newest.commit.slice(0, 7)}`} flush>
      <Loaded query={detail} title="The commit could not be loaded" height="6rem">
        {(found) =>
          found.rollouts.length + found.configurations.length > 0 ? (
            <Holdings workspaceId={workspaceId} detail={found} />
          ) : (
            <Empty title="No rollouts">
              {sentence(found.faults.at(0)?.message ?? 'there is none')}
              {found.faults.at(0)?.fix && `: ${found.faults.at(0)?.fix}`}.
            </Empty>
          )
        }
      </Loaded>
    </Panel>
  )
}

function Disconnect({ workspace, repository }: { workspace: Workspace; repository: Repository }) {
  const [asked, setAsked] = useState(false)
  const remove = useChange(
    () => del('/api/workspaces/{workspace}/repository', { params: { workspace: workspace.id } }),
    { done: `Disconnected ${repository.identity}.`, after: () => setAsked(false) },
  )
  return (
    <>
      <Button onClick={() => setAsked(true)}>Disconnect</Button>
      <ConfirmDialog
        open={asked}
        title={`Disconnect ${repository.identity}?`}
        confirm="Disconnect"
        danger
        busy={remove.isPending}
        onConfirm={() => remove.mutate(undefined)}
        onClose={() => setAsked(false)}
      >
        <p>Its credentials and its webhook are deleted. Runs keep what was synced.</p>
      </ConfirmDialog>
    </>
  )
}

function isGoing({ status }: Sync): boolean {
  return status === 'pending' || status === 'syncing'
}
