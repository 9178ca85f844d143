import { Link, useParams } from '@tanstack/react-router'
import { useDocument } from '../api/query'
import type { Schema } from '../api/types'
import { plural } from '../format'
import { LinkButton } from '../parts/LinkButton'
import { Loaded } from '../parts/Loaded'
import { Page } from '../parts/Page'
import styles from '../parts/panels.module.css'
import { useMe } from '../session/useMe'
import { AttentionPanel } from './AttentionPanel'
import { BudgetPanel } from './BudgetPanel'
import { NextRuns } from './NextRuns'
import { mayAs } from './roles'
import { SyncPanel } from './SyncPanel'
import { WorkspaceActions } from './WorkspaceActions'
import { WorkspaceNav } from './WorkspaceNav'
import { WorkspaceRuns } from './WorkspaceRuns'

/** A workspace: its newest runs, what runs next, and what is to do. */
export function WorkspacePage() {
  const { workspaceId } = useParams({ from: '/workspaces/$workspaceId' })
  const workspace = useDocument('/api/workspaces/{workspace}', { params: { workspace: workspaceId } })
  if (workspace.data) return <WorkspaceView workspace={workspace.data} />
  return (
    <Page title="Workspace" trail={<Link to="/workspaces">Workspaces</Link>}>
      <Loaded query={workspace} title="This workspace could not be loaded">
        {() => null}
      </Loaded>
    </Page>
  )
}

function WorkspaceView({ workspace }: { workspace: Schema<'WorkspaceDocument'> }) {
  const me = useMe()
  const { id, members, name, role } = workspace
  const works = mayAs('member', workspace, me)
  const manages = mayAs('admin', workspace, me)
  return (
    <Page
      title={name}
      heading={<bdi>{name}</bdi>}
      trail={<Link to="/workspaces">Workspaces</Link>}
      actions={
        <>
          {works && (
            <LinkButton to="/new-run" search={{ workspace: id }} icon="play">
              Run a rollout
            </LinkButton>
          )}
          <WorkspaceActions workspace={workspace} />
        </>
      }
      note={`${plural(members, 'member')}; ${role === null ? 'you are not one of them' : `your role is ${role}`}`}
    >
      <WorkspaceNav workspaceId={id} />
      <div className={styles.columns}>
        <div className={styles.stack}>
          <AttentionPanel workspaceId={id} works={works} />
          <WorkspaceRuns workspaceId={id} title="Newest runs" />
        </div>
        <div className={styles.stack}>
          <SyncPanel workspaceId={id} works={works} manages={manages} />
          <NextRuns workspaceId={id} />
          <BudgetPanel workspaceId={id} />
        </div>
      </div>
    </Page>
  )
}
