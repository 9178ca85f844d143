import { Link } from '@tanstack/react-router'
import type { Schema } from '../api/types'

/** What a page below a workspace belongs to. */
interface WorkspaceTrailProps {
  /** Undefined until it is known. */
  workspace: Schema<'WorkspaceDocument'> | undefined
  /** Also lead to its datasets. */
  datasets?: boolean
  /** Also lead to its repository. */
  repository?: boolean
}

/** The way from all workspaces to a page of one. */
export function WorkspaceTrail({ workspace, datasets = false, repository = false }: WorkspaceTrailProps) {
  const params = workspace && { workspaceId: workspace.id }
  return (
    <>
      <Link to="/workspaces">Workspaces</Link>
      {params && (
        <>
          {' › '}
          <Link to="/workspaces/$workspaceId" params={params}>
            <bdi>{workspace.name}</bdi>
          </Link>
        </>
      )}
      {params && datasets && (
        <>
          {' › '}
          <Link to="/workspaces/$workspaceId/datasets" params={params}>
            Datasets
          </Link>
        </>
      )}
      {params && repository && (
        <>
          {' › '}
          <Link to="/workspaces/$workspaceId/repository" params={params}>
            Repository
          </Link>
        </>
      )}
    </>
  )
}
