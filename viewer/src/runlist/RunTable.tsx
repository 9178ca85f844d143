import { Link } from '@tanstack/react-router'
import type { Doc } from '../api/platform'
import { PlainTable } from '../parts/PlainTable'
import { Progress } from '../parts/Progress'
import { When } from '../parts/When'
import { RunScore } from './RunScore'
import { RunStatus } from './RunStatus'
import { VisibilityBadge } from './VisibilityBadge'

/** A few runs of the platform; `hide` leaves out what is the same in all of them. */
export interface RunTableProps {
  label: string
  runs: readonly (Doc<'Run'> & Partial<Doc<'RunListItem'>>)[]
  hide?: readonly ('domain' | 'owner' | 'visibility')[]
}

/** Runs with their state, score and owner. */
export function RunTable({ label, runs, hide = [] }: RunTableProps) {
  const shown = (column: 'domain' | 'owner' | 'visibility') => !hide.includes(column)
  return (
    <PlainTable label={label}>
      <thead>
        <tr>
          <th scope="col">Model</th>
          {shown('domain') && <th scope="col">Domain</th>}
          <th scope="col">State</th>
          <th scope="col" data-numeric>
            Score
          </th>
          <th scope="col">Episodes</th>
          {shown('owner') && <th scope="col">By</th>}
          {shown('visibility') && <th scope="col">Seen by</th>}
          <th scope="col">Started</th>
        </tr>
      </thead>
      <tbody>
        {runs.map((run) => (
          <tr key={run.id}>
            <th scope="row">
              <Link to="/runs/$runId" params={{ runId: run.id }}>
                <bdi>{run.name || run.config.agent_config.model}</bdi>
              </Link>
            </th>
            {shown('domain') && (
              <td>
                <Link to="/domains/$domainId" params={{ domainId: run.config.domain_id }}>
                  <bdi>{run.domain_name || run.config.domain_id.slice(0, 8)}</bdi>
                </Link>
              </td>
            )}
            <td>
              <RunStatus status={run.status ?? 'pending'} />
            </td>
            <td data-numeric>
              <RunScore run={run} />
            </td>
            <td>
              <Progress
                done={(run.finished ?? 0) - (run.failed_count ?? 0)}
                failed={run.failed_count ?? 0}
                total={run.planned || run.config.num_episodes || 0}
                numbers
              />
            </td>
            {shown('owner') && (
              <td>
                <bdi>{run.actor_username ?? (run.actor_type === 'guest' ? 'a guest' : '–')}</bdi>
              </td>
            )}
            {shown('visibility') && (
              <td>
                <VisibilityBadge visibility={run.visibility ?? 'private'} team={run.team_id} />
              </td>
            )}
            <td>
              <When at={run.created_at} />
            </td>
          </tr>
        ))}
      </tbody>
    </PlainTable>
  )
}
