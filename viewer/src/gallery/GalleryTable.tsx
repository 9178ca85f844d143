import { Link } from '@tanstack/react-router'
import type { Schema } from '../api/types'
import { CheckBadge } from '../environments/CheckBadge'
import { count, interval, measure } from '../format'
import { PlainTable } from '../parts/PlainTable'
import { When } from '../parts/When'
import { OfficialBadge } from '../runlist/OfficialBadge'

/** Public runs. */
export function GalleryTable({ runs }: { runs: readonly Schema<'GalleryRun'>[] }) {
  return (
    <PlainTable label="Table of public runs">
      <thead>
        <tr>
          <th scope="col">Model</th>
          <th scope="col">Domain</th>
          <th scope="col" data-numeric data-breaks>
            Score
          </th>
          <th scope="col" data-numeric data-minor>
            Episodes
          </th>
          <th scope="col" data-minor>
            By
          </th>
          <th scope="col" data-minor>
            Started
          </th>
        </tr>
      </thead>
      <tbody>
        {runs.map((run) => (
          <tr key={run.run_id}>
            <th scope="row">
              <Link to="/runs/$runId" params={{ runId: run.run_id }}>
                <bdi>{run.model}</bdi>
              </Link>{' '}
              <OfficialBadge protocol={run.protocol} />
            </th>
            <td>
              <Link to="/domains/$domainId" params={{ domainId: run.domain_id }}>
                <bdi>{run.domain_name}</bdi>
              </Link>{' '}
              {(run.check === 'failed' || run.check === 'outdated') && <CheckBadge state={run.check} />}
            </td>
            <td data-numeric data-breaks data-tip={run.primary?.name}>
              <strong className="number">{measure(run.primary_score)}</strong>{' '}
              <span className="muted number">{interval(run.primary?.low, run.primary?.high, run.primary?.weak)}</span>{' '}
              {run.primary && (
                <span className="muted number">
                  n={count(run.primary.n_scored)}/{count(run.primary.n_planned)}
                </span>
              )}
            </td>
            <td data-numeric data-minor>
              {count(run.num_episodes)}
            </td>
            <td data-minor>{run.actor_label === 'Guest' ? 'a guest' : 'a member'}</td>
            <td data-minor>
              <When at={run.created_at} />
            </td>
          </tr>
        ))}
      </tbody>
    </PlainTable>
  )
}
