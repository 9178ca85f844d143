import { count } from '../format'
import { Panel } from '../parts/Panel'
import styles from '../parts/panels.module.css'
import { budgetWords, type Limits } from './limits'

/** What one may do, and how much of that is left. */
export function LimitsPanel({ limits }: { limits: Limits }) {
  const own = budgetWords(limits.budget)
  const team = budgetWords(limits.team_budget)
  return (
    <Panel title="Your limits">
      <dl className={styles.terms}>
        <dt>Runs left today</dt>
        <dd className="number">
          {count(limits.runs_left_today)} of {count(limits.runs_per_day)}
        </dd>
        {own && (
          <>
            <dt>Your budget</dt>
            <dd data-tip="Per 24 hours; models without a price are not counted">{own}</dd>
          </>
        )}
        {team && (
          <>
            <dt>The team's budget</dt>
            <dd data-tip="Per 24 hours; models without a price are not counted">{team}</dd>
          </>
        )}
        {limits.waiting > 0 && (
          <>
            <dt>Your queued and active runs</dt>
            <dd className="number">
              {count(limits.waiting)} of {count(limits.waiting_at_most)}
            </dd>
          </>
        )}
        <dt>Queue</dt>
        <dd className="number">{limits.queue_length === 0 ? 'empty' : `${count(limits.queue_length)} waiting`}</dd>
      </dl>
    </Panel>
  )
}
