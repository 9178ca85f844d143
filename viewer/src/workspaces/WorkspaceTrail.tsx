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
  /** Also lead to its rollouts, and to one of them. */
  rollouts?: boolean
  rollout?: string
}

/** The way from all workspaces to a page of one. */
export function WorkspaceTrail(props: WorkspaceTrailProps) {
  const { workspace, datasets = false, repository = false, rollouts = false, rollout = '' } = props
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
      {params && rollouts && (
        <>
          {' › '}
          <Link to="/workspaces/$workspaceId/rollouts" params={params}>
            Rollouts
          </Link>
        </>
      )}
      {params && rollout !== '' && (
        <>
          {' › '}
          <Link to="/workspaces/$workspaceId/rollouts/$rollout" params={{ ...params, rollout }}>
            <bdi>{rollout}</bdi>
          </Link>
        </>
      )}
    </>
  )
}
