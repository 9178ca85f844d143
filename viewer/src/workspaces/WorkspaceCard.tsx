import { Link } from '@tanstack/react-router'
import type { Schema } from '../api/types'
import { Badge } from '../parts/Badge'
import styles from '../parts/panels.module.css'

/** A workspace in the list. */
export function WorkspaceCard({ workspace }: { workspace: Schema<'WorkspaceDocument'> }) {
  return (
    <li className={styles.item}>
      <div className={styles.itemHead}>
        <Link to="/workspaces/$workspaceId" params={{ workspaceId: workspace.id }}>
          <bdi>{workspace.name}</bdi>
        </Link>
        <Badge>{workspace.role ?? 'not a member'}</Badge>
      </div>
      <p className={styles.facts}>
        <span className="number">
          {workspace.members} {workspace.members === 1 ? 'member' : 'members'}
        </span>
      </p>
    </li>
  )
}
