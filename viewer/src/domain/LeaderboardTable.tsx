import { PlainTable } from '../parts/PlainTable'
import { type Entry, LeaderboardRow } from './LeaderboardRow'
import styles from './LeaderboardTable.module.css'
import { scaleOf } from './places'

/** Entries, best first. */
interface LeaderboardTableProps {
  label: string
  entries: readonly Entry[]
  /** The version of the vow that holds now; others are marked. */
  version?: string
}

/** A leaderboard with intervals; entries that chance may have put in order share their places. */
export function LeaderboardTable({ label, entries, version }: LeaderboardTableProps) {
  const scale = scaleOf(entries)
  const domains = entries.some((entry) => entry.domain_name !== undefined)
  return (
    <>
      <PlainTable label={label} className={styles.table}>
        <thead>
          <tr>
            <th scope="col">Rank</th>
            <th scope="col">Model</th>
            {domains && <th scope="col">Domain</th>}
            <th scope="col" data-numeric data-breaks>
              Score
            </th>
            <th scope="col" data-minor>
              <span className="hidden-text">Score with its interval</span>
            </th>
            <th scope="col" data-numeric data-minor>
              Episodes
            </th>
            <th scope="col" data-numeric data-minor>
              Runs
            </th>
            <th scope="col" data-numeric data-minor>
              Cost
            </th>
          </tr>
        </thead>
        <tbody>
          {entries.map((entry) => (
            <LeaderboardRow
              key={`${entry.domain_id} ${entry.run_id}`}
              entry={entry}
              scale={scale}
              domains={domains}
              version={version}
            />
          ))}
        </tbody>
      </PlainTable>
      <p className={styles.legend}>
        Scores are shown with their 95% intervals.
        {entries.some((entry) => entry.tied) &&
          ' Ranks such as 1–3 are tied: the differences are not significant; more episodes may separate them.'}
        {entries.some((entry) => entry.uncompared > 0) &&
          ' Entries for other versions of the environment, or scored by different rules, are not comparable and share ranks.'}
      </p>
    </>
  )
}
