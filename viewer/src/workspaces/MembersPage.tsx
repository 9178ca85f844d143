import { useParams } from '@tanstack/react-router'
import { useDocument } from '../api/query'
import type { Schema } from '../api/types'
import { Loaded } from '../parts/Loaded'
import { Page } from '../parts/Page'
import { Panel } from '../parts/Panel'
import styles from '../parts/panels.module.css'
import { useMe } from '../session/useMe'
import { AddMember } from './AddMember'
import { mayAs } from './roles'
import { WorkspaceMembers } from './WorkspaceMembers'
import { WorkspaceNav } from './WorkspaceNav'
import { WorkspaceTrail } from './WorkspaceTrail'

/** Who is in a workspace. */
export function MembersPage() {
  const { workspaceId } = useParams({ from: '/workspaces/$workspaceId/members' })
  const workspace = useDocument('/api/workspaces/{workspace}', { params: { workspace: workspaceId } })
  return (
    <Page
      title={workspace.data ? `Members of ${workspace.data.name}` : 'Members'}
      heading="Members"
      trail={<WorkspaceTrail workspace={workspace.data} />}
      note="Members see all runs, datasets and names of secrets of the workspace; their role says what they may change."
    >
      <WorkspaceNav workspaceId={workspaceId} />
      <Loaded query={workspace} title="This workspace could not be loaded">
        {(found) => <MembersView workspace={found} />}
      </Loaded>
    </Page>
  )
}

function MembersView({ workspace }: { workspace: Schema<'WorkspaceDocument'> }) {
  const me = useMe()
  return (
    <div className={styles.columns}>
      <Panel flush>
        <WorkspaceMembers workspace={workspace} />
      </Panel>
      {mayAs('admin', workspace, me) && (
        <Panel title="Add a member">
          <AddMember workspace={workspace} />
        </Panel>
      )}
    </div>
  )
}
