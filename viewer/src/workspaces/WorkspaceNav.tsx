import { Link } from '@tanstack/react-router'
import styles from './WorkspaceNav.module.css'

/** The pages of a workspace. */
export function WorkspaceNav({ workspaceId }: { workspaceId: string }) {
  const params = { workspaceId }
  const options = { exact: true, includeSearch: false }
  return (
    <nav aria-label="Workspace" className={styles.nav}>
      <Link to="/workspaces/$workspaceId" params={params} activeOptions={options}>
        Members
      </Link>
      <Link to="/workspaces/$workspaceId/repository" params={params} activeOptions={options}>
        Repository
      </Link>
      <Link to="/workspaces/$workspaceId/datasets" params={params} activeOptions={options}>
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
    </nav>
  )
}
