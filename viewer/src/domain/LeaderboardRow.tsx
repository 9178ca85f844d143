import { Link } from '@tanstack/react-router'
import type { Schema } from '../api/types'
import { CheckBadge } from '../environments/CheckBadge'
import { count, interval, measure, plural } from '../format'
import { Badge } from '../parts/Badge'
import { IntervalBar } from '../parts/IntervalBar'
import { Money } from '../parts/Money'
import styles from './LeaderboardTable.module.css'
import { agentWords, attemptWords, placeOf, placeWords } from './places'

/** An entry of a leaderboard; those of a team say which domain they are of. */
export type Entry = Schema<'LeaderboardEntry'> & {
  domain_name?: string
  /** Of an official entry: what became of its participant's attempts. */
  attempts?: Schema<'AttemptCounts'>
}

/** An entry, and how it is shown. */
interface LeaderboardRowProps {
  entry: Entry
  /** Ends of the scale that all entries are drawn on. */
  scale: readonly [number, number]
  /** Whether entries are of several domains. */
  domains: boolean
  /** The version of the vow that holds now. */
  version?: string
}

/** An entry: its place, who it is, how good with which interval, after how much. */
export function LeaderboardRow({ entry, scale, domains, version }: LeaderboardRowProps) {
  return (
    <tr data-reference={entry.reference || undefined} data-first={entry.rank === 1 || undefined}>
      <td className={styles.place} data-tip={placeWords(entry)}>
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
      <td data-numeric data-breaks>
        <strong className="number">{measure(entry.primary_score)}</strong>{' '}
        <span className="muted number">{interval(entry.primary?.low, entry.primary?.high, entry.primary?.weak)}</span>
        <span className={styles.narrow}>
          n={count(entry.n_scored)}/{count(entry.n_planned)}
        </span>
      </td>
      <td className={styles.bar} data-minor>
        <IntervalBar
          value={entry.primary_score ?? null}
          low={entry.primary?.low}
          high={entry.primary?.high}
          scale={scale}
          label={entry.model}
        />
      </td>
      <td data-numeric data-minor data-tip={`Scored / planned episodes, from ${plural(entry.n_tasks, 'task')}`}>
        {count(entry.n_scored)}/{count(entry.n_planned)}
      </td>
      <td data-numeric data-minor data-tip={`by ${plural(entry.actors, 'user')}`}>
        {count(entry.runs)}
        {entry.attempts && entry.attempts.finished < entry.attempts.total && (
          <>
            {' '}
            <Badge tone={entry.unranked ? 'warn' : 'live'} title={attemptWords(entry.attempts)}>
              {count(entry.attempts.finished)} of {count(entry.attempts.total)} attempts
            </Badge>
          </>
        )}
        {!entry.attempts && entry.published < entry.candidates && (
          <>
            {' '}
            <Badge
              tone="warn"
              title="Ended runs with this model by the same users, including deleted ones; not all are shown"
            >
              {count(entry.published)} of {count(entry.candidates)} published
            </Badge>
          </>
        )}
      </td>
      <td data-numeric data-minor data-tip="Mean cost per episode">
        <Money usd={entry.cost_usd} />
      </td>
    </tr>
  )
}

function Who({ entry, version }: { entry: Entry; version?: string }) {
  const words = agentWords(entry.agent)
  const other = version !== undefined && entry.binding_vow_version !== version
  return (
    <>
      <Link to="/runs/$runId" params={{ runId: entry.run_id }} data-tip={`${entry.model}: its newest run`}>
        <bdi>{entry.model}</bdi>
      </Link>{' '}
      {words && <span className="muted">{words}</span>}{' '}
      {(entry.check === 'failed' || entry.check === 'outdated') && <CheckBadge state={entry.check} />}{' '}
      {other && <Badge title="Played by a different version of the rules">vow {entry.binding_vow_version}</Badge>}
      {entry.uncompared > 0 && entry.environment_version !== null && (
        <Badge title="Played in this version of the environment; entries of other versions are not comparable">
          environment {entry.environment_version}
        </Badge>
      )}
      {entry.unranked && <span className={styles.reason}>not ranked: {entry.unranked}</span>}
    </>
  )
}
