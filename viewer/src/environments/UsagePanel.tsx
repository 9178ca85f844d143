import type { Schema } from '../api/types'
import { count } from '../format'
import { Panel } from '../parts/Panel'
import styles from '../parts/panels.module.css'
import { runWord } from '../run/headline'

/** How much an environment was used. Scores are on the leaderboard, with intervals. */
export function UsagePanel({ usage }: { usage: Schema<'UsageSummary'> }) {
  const states = Object.entries(usage.by_status ?? {})
  return (
    <Panel title="Usage">
      <dl className={styles.terms}>
        <dt>Runs</dt>
        <dd className="number">{count(usage.total_runs)}</dd>
        {states.length > 0 && (
          <>
            <dt>By state</dt>
            <dd>{states.map(([state, n]) => `${count(n)} ${runWord(state)}`).join(', ')}</dd>
          </>
        )}
        <dt>Episodes</dt>
        <dd className="number">{count(usage.total_episodes)}</dd>
        <dt>Public runs</dt>
        <dd className="number">{count(usage.gallery_eligible)}</dd>
        <dt>On the leaderboard</dt>
        <dd className="number">{count(usage.leaderboard_entries)}</dd>
      </dl>
    </Panel>
  )
}
