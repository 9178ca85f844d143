import { Link } from '@tanstack/react-router'
import { SubNav } from '../parts/SubNav'

/** The pages of a workspace. */
export function WorkspaceNav({ workspaceId }: { workspaceId: string }) {
  const params = { workspaceId }
  const options = { exact: true, includeSearch: false }
  return (
    <SubNav label="Workspace">
      <Link to="/workspaces/$workspaceId" params={params} activeOptions={options}>
        Overview
      </Link>
      <Link to="/workspaces/$workspaceId/rollouts" params={params}>
        Rollouts
      </Link>
      <Link to="/workspaces/$workspaceId/repository" params={params}>
        Repository
      </Link>
      <Link to="/workspaces/$workspaceId/datasets" params={params}>
        Datasets
      </Link>
      <Link to="/workspaces/$workspaceId/secrets" params={params} activeOptions={options}>
        Secrets
      </Link>
      <Link to="/workspaces/$workspaceId/schedules" params={params}>
        Schedules
      </Link>
      <Link to="/workspaces/$workspaceId/notifications" params={params} activeOptions={options}>
        Notifications
      </Link>
      <Link to="/workspaces/$workspaceId/members" params={params} activeOptions={options}>
        Members
      </Link>
    </SubNav>
  )
}
