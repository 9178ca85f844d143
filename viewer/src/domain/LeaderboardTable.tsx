import { Link } from '@tanstack/react-router'
import type { Doc } from '../api/platform'
import { count, interval, measure, plural } from '../format'
import { Badge } from '../parts/Badge'
import { IntervalBar } from '../parts/IntervalBar'
import { Money } from '../parts/Money'
import { PlainTable } from '../parts/PlainTable'
import styles from './LeaderboardTable.module.css'
import { agentWords, placeOf, placeWords, scaleOf } from './places'

/** Entries, best first; those of a team say which domain they are of. */
export interface LeaderboardTableProps {
  label: string
  entries: readonly (Doc<'LeaderboardEntry'> & { domain_name?: string })[]
  /** The version of the vow that holds now; others are marked. */
  version?: string
}

/** A leaderboard with intervals; entries that chance may have put in order share their places. */
export function LeaderboardTable({ label, entries, version }: LeaderboardTableProps) {
  const scale = scaleOf(entries)
  const domains = entries.some((entry) => entry.domain_name !== undefined)
  return (
    <PlainTable label={label}>
      <thead>
        <tr>
          <th scope="col">Place</th>
          <th scope="col">Model</th>
          {domains && <th scope="col">Domain</th>}
          <th scope="col" data-numeric>
            Score
          </th>
          <th scope="col">
            <span className="hidden-text">Score with its interval</span>
          </th>
          <th scope="col" data-numeric>
            Episodes
          </th>
          <th scope="col" data-numeric>
            Runs
          </th>
          <th scope="col" data-numeric>
            Cost
          </th>
        </tr>
      </thead>
      <tbody>
        {entries.map((entry) => (
          <tr key={`${entry.domain_id} ${entry.run_id}`} data-reference={entry.reference || undefined}>
            <td className={styles.place} title={placeWords(entry)}>
              {placeOf(entry)}
            </td>
            <th scope="row">
              <Who entry={entry} version={version} />
            </th>
            {domains && (
              <td>
                <Link to="/domains/$domainId" params={{ domainId: entry.domain_id }}>
                  <bdi>{entry.domain_name}</bdi>
                </Link>
              </td>
            )}
            <td data-numeric>
              <strong className="number">{measure(entry.primary_score)}</strong>{' '}
              <span className="muted number">{interval(entry.primary?.low, entry.primary?.high)}</span>
            </td>
            <td className={styles.bar}>
              <IntervalBar
                value={entry.primary_score ?? null}
                low={entry.primary?.low}
                high={entry.primary?.high}
                scale={scale}
                label={entry.model}
              />
            </td>
            <td data-numeric title={`${plural(entry.n_tasks, 'task')}, ${count(entry.n_planned)} episodes planned`}>
              {count(entry.n_scored)}
            </td>
            <td data-numeric title={`of ${plural(entry.actors, 'person', 'people')}`}>
              {count(entry.runs)}
            </td>
            <td data-numeric title="Mean cost of an episode">
              <Money usd={entry.cost_usd} />
            </td>
          </tr>
        ))}
      </tbody>
    </PlainTable>
  )
}

function Who({ entry, version }: { entry: Doc<'LeaderboardEntry'>; version?: string }) {
  const words = agentWords(entry.agent)
  const other = version !== undefined && entry.binding_vow_version !== version
  return (
    <>
      <Link to="/runs/$runId" params={{ runId: entry.run_id }} title="The newest of its runs">
        <bdi>{entry.model}</bdi>
      </Link>{' '}
      {words && <span className="muted">{words}</span>}{' '}
      {other && <Badge title="Played by rules of another version">vow {entry.binding_vow_version}</Badge>}
    </>
  )
}
