import { Link } from '@tanstack/react-router'
import { useDocument } from '../api/query'
import type { Schema } from '../api/types'
import { count } from '../format'
import { LinkButton } from '../parts/LinkButton'
import { When } from '../parts/When'
import { useMe } from '../session/useMe'
import { OfWorkspaces, WorkspaceRows } from '../workspaces/OfWorkspaces'
import { mayAs } from '../workspaces/roles'
import { originWords, rolloutsOf } from './code'

/** The rollouts of all of one's workspaces. */
export function AllRolloutsPage() {
  return (
    <OfWorkspaces
      title="Rollouts"
      note="Code that plays a task with a model and grades what came of it, from the repositories of your workspaces."
      head={<Head />}
      rows={(workspace) => <Rows key={workspace.id} workspace={workspace} />}
    />
  )
}

function Head() {
  return (
    <thead>
      <tr>
        <th scope="col">Rollout</th>
        <th scope="col" data-numeric>
          Configurations
        </th>
        <th scope="col" data-minor>
          Code
        </th>
        <th scope="col" data-minor>
          Last changed
        </th>
        <th scope="col">
          <span className="hidden-text">Start</span>
        </th>
      </tr>
    </thead>
  )
}

function Rows({ workspace }: { workspace: Schema<'WorkspaceDocument'> }) {
  const code = useDocument('/api/workspaces/{workspace}/code', { params: { workspace: workspace.id } })
  const works = mayAs('member', workspace, useMe())
  const found = code.data === undefined ? undefined : rolloutsOf(code.data)
  return (
    <WorkspaceRows
      workspace={workspace}
      to="/workspaces/$workspaceId/rollouts"
      columns={5}
      words={wordsOf(code.error, found)}
    >
      {found?.map(({ name, code: from, configurations }) => {
        const first = configurations.find(({ valid }) => valid)
        return (
          <tr key={name}>
            <th scope="row">
              <Link
                to="/workspaces/$workspaceId/rollouts/$rollout"
                params={{ workspaceId: workspace.id, rollout: name }}
                data-tip={name}
              >
                <bdi>{name}</bdi>
              </Link>
            </th>
            <td data-numeric className="number">
              {count(configurations.length)}
            </td>
            <td data-minor>{originWords(from)}</td>
            <td data-minor>
              <When at={from.at} />
            </td>
            <td data-numeric>
              {works && first && (
                <span>
                  <LinkButton
                    to="/new-run"
                    search={{ workspace: workspace.id, configuration: first.path, branch: from.branch || undefined }}
                    icon="play"
                    aria-label={`Run ${name}`}
                  >
                    Run
                  </LinkButton>
                </span>
              )}
            </td>
          </tr>
        )
      })}
    </WorkspaceRows>
  )
}

function wordsOf(error: Error | null, found: readonly unknown[] | undefined): string {
  if (error) return `The code could not be loaded: ${error.message}`
  if (found === undefined) return '…'
  return found.length === 0 ? 'No rollouts yet: connect a repository, or mesocosm workspace upload.' : ''
}
