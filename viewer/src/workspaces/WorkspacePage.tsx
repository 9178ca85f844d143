import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { del } from '../api/client'
import { useDocument } from '../api/query'
import type { Schema } from '../api/types'
import { Button } from '../parts/Button'
import { ConfirmDialog } from '../parts/ConfirmDialog'
import { Loaded } from '../parts/Loaded'
import { Page } from '../parts/Page'
import { Panel } from '../parts/Panel'
import styles from '../parts/panels.module.css'
import { useChange } from '../parts/useChange'
import { useMe } from '../session/useMe'
import { AddMember } from './AddMember'
import { mayAs } from './roles'
import { WorkspaceMembers } from './WorkspaceMembers'
import { WorkspaceNav } from './WorkspaceNav'

/** What the parts of the page show. */
interface WorkspaceProps {
  workspace: Schema<'WorkspaceDocument'>
}

/** A workspace: who is in it. */
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

function WorkspaceView({ workspace }: WorkspaceProps) {
  const me = useMe()
  const { members, name, role } = workspace
  return (
    <Page
      title={name}
      heading={<bdi>{name}</bdi>}
      trail={<Link to="/workspaces">Workspaces</Link>}
      actions={
        <>
          {role !== null && members > 0 && <LeaveWorkspace workspace={workspace} />}
          {mayAs('owner', workspace, me) && <DeleteWorkspace workspace={workspace} />}
        </>
      }
      note={`${members} ${members === 1 ? 'member' : 'members'}; ${role === null ? 'you are not one of them' : `your role is ${role}`}`}
    >
      <WorkspaceNav workspaceId={workspace.id} />
      <div className={styles.columns}>
        <Panel title="Members" flush>
          <WorkspaceMembers workspace={workspace} />
        </Panel>
        {mayAs('admin', workspace, me) && (
          <Panel title="Add a member">
            <AddMember workspace={workspace} />
          </Panel>
        )}
      </div>
    </Page>
  )
}

function LeaveWorkspace({ workspace }: WorkspaceProps) {
  const [asked, setAsked] = useState(false)
  const navigate = useNavigate()
  const leave = useChange(
    () => del('/api/workspaces/{workspace}/members/me', { params: { workspace: workspace.id } }),
    { done: `You left ${workspace.name}.`, after: () => void navigate({ to: '/workspaces' }) },
  )
  return (
    <>
      <Button onClick={() => setAsked(true)}>Leave workspace</Button>
      <ConfirmDialog
        open={asked}
        title="Leave this workspace?"
        confirm="Leave"
        danger
        busy={leave.isPending}
        onConfirm={() => leave.mutate(undefined)}
        onClose={() => setAsked(false)}
      >
        <p>What you made stays in the workspace. Only its admins can add you again.</p>
      </ConfirmDialog>
    </>
  )
}

function DeleteWorkspace({ workspace }: WorkspaceProps) {
  const [asked, setAsked] = useState(false)
  const navigate = useNavigate()
  const remove = useChange(() => del('/api/workspaces/{workspace}', { params: { workspace: workspace.id } }), {
    done: `Deleted ${workspace.name}.`,
    after: () => void navigate({ to: '/workspaces' }),
  })
  return (
    <>
      <Button look="danger" icon="trash" onClick={() => setAsked(true)}>
        Delete workspace
      </Button>
      <ConfirmDialog
        open={asked}
        title={`Delete ${workspace.name}?`}
        confirm="Delete workspace"
        danger
        busy={remove.isPending}
        onConfirm={() => remove.mutate(undefined)}
        onClose={() => setAsked(false)}
      >
        <p>All members lose access, and all datasets and secrets in it are deleted. This cannot be undone.</p>
      </ConfirmDialog>
    </>
  )
}
