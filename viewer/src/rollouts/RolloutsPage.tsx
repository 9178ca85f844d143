import { Link, useParams } from '@tanstack/react-router'
import { useDocument } from '../api/query'
import type { Schema } from '../api/types'
import { plural } from '../format'
import { Empty } from '../parts/Empty'
import { LinkButton } from '../parts/LinkButton'
import { Loaded } from '../parts/Loaded'
import { Page } from '../parts/Page'
import { Panel } from '../parts/Panel'
import styles from '../parts/panels.module.css'
import { useMe } from '../session/useMe'
import { mayAs } from '../workspaces/roles'
import { WorkspaceNav } from '../workspaces/WorkspaceNav'
import { WorkspaceTrail } from '../workspaces/WorkspaceTrail'
import { ConfigurationTable } from './ConfigurationTable'
import { type FoundRollout, originWords, rolloutsOf } from './code'

/** The rollouts of a workspace, each with its configurations. */
export function RolloutsPage() {
  const { workspaceId } = useParams({ from: '/workspaces/$workspaceId/rollouts' })
  const workspace = useDocument('/api/workspaces/{workspace}', { params: { workspace: workspaceId } })
  const code = useDocument('/api/workspaces/{workspace}/code', { params: { workspace: workspaceId } })
  return (
    <Page
      title={workspace.data ? `Rollouts of ${workspace.data.name}` : 'Rollouts'}
      heading="Rollouts"
      trail={<WorkspaceTrail workspace={workspace.data} />}
      note="A rollout plays a task with a model and grades what came of it. A configuration says on which dataset."
    >
      <WorkspaceNav workspaceId={workspaceId} />
      <Loaded query={workspace} title="This workspace could not be loaded">
        {(found) => (
          <Loaded query={code} title="The code of the workspace could not be loaded">
            {(codes) => <RolloutList workspace={found} rollouts={rolloutsOf(codes)} />}
          </Loaded>
        )}
      </Loaded>
    </Page>
  )
}

interface RolloutListProps {
  workspace: Schema<'WorkspaceDocument'>
  rollouts: readonly FoundRollout[]
}

function RolloutList({ workspace, rollouts }: RolloutListProps) {
  const works = mayAs('member', workspace, useMe())
  const params = { workspaceId: workspace.id }
  if (rollouts.length === 0)
    return (
      <Empty title="No rollouts yet" command="mesocosm workspace connect">
        <p>Connect a repository with rollouts, or upload a folder with mesocosm workspace upload.</p>
        <LinkButton to="/workspaces/$workspaceId/repository" params={params} look="primary">
          Connect a repository
        </LinkButton>
      </Empty>
    )
  return (
    <div className={styles.stack}>
      {rollouts.map(({ name, code, configurations }) => (
        <Panel
          key={name}
          title={
            <Link to="/workspaces/$workspaceId/rollouts/$rollout" params={{ ...params, rollout: name }}>
              <bdi>{name}</bdi>
            </Link>
          }
          note={`${originWords(code)}; ${plural(configurations.length, 'configuration')}`}
          flush={configurations.length > 0}
        >
          {configurations.length > 0 ? (
            <ConfigurationTable
              workspaceId={workspace.id}
              configurations={configurations}
              branch={code.branch}
              works={works}
            />
          ) : (
            <p className="muted">No valid configuration names it. Add one below configs/eval/, and sync.</p>
          )}
        </Panel>
      ))}
    </div>
  )
}
