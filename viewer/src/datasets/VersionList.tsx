import { Link } from '@tanstack/react-router'
import type { Schema } from '../api/types'
import { bytes, plural } from '../format'
import panels from '../parts/panels.module.css'
import { When } from '../parts/When'
import { DatasetBadge } from './DatasetBadge'
import styles from './VersionList.module.css'

/** A dataset, of which the page shows one version. */
interface VersionListProps {
  workspaceId: string
  dataset: Schema<'DatasetDocument'>
}

/** What was uploaded, newest first; runs keep pointing at theirs. */
export function VersionList({ workspaceId, dataset }: VersionListProps) {
  const params = { workspaceId, datasetId: dataset.id }
  return (
    <ul className={panels.rows} aria-label="Versions">
      {dataset.versions.map((one) => (
        <li key={one.version} className={styles.version} aria-current={one.version === dataset.current.version}>
          <Link
            to="/workspaces/$workspaceId/datasets/$datasetId"
            params={params}
            search={{ version: one.version }}
            aria-label={`Version ${one.version}`}
          >
            v{one.version}
          </Link>
          <span className={panels.actions}>
            <code data-tip={`SHA-256 ${one.digest}`}>{one.digest.slice(0, 8)}</code>
            <DatasetBadge status={one.status} />
          </span>
          <span className="number">{one.rows == null ? '' : plural(one.rows, 'row')}</span>
          <span className={styles.facts}>
            <bdi>{one.file_name}</bdi>, {bytes(one.size)}, <When at={one.created_at} />
            {one.creator && (
              <>
                {' by '}
                <bdi>{one.creator}</bdi>
              </>
            )}
          </span>
        </li>
      ))}
    </ul>
  )
}
