import { useDocument } from '../api/query'
import type { Schema } from '../api/types'
import { money } from '../format'
import { Loaded } from '../parts/Loaded'
import { Panel } from '../parts/Panel'
import styles from './workspaces.module.css'

/** What the runs of a workspace may cost in 24 hours, and what is left. */
export function BudgetPanel({ workspaceId }: { workspaceId: string }) {
  const budget = useDocument('/api/workspaces/{workspace}/budget', { params: { workspace: workspaceId } })
  return (
    <Panel title="Budget" note="the last 24 hours, all runs together">
      <Loaded query={budget} title="The budget could not be loaded" height="3rem">
        {(found) => <BudgetView budget={found} />}
      </Loaded>
    </Panel>
  )
}

function BudgetView({ budget: { limit_usd, spent_usd, left_usd } }: { budget: Schema<'BudgetDocument'> }) {
  if (limit_usd === null || left_usd === null)
    return (
      <p>
        <strong className="number">{money(spent_usd)}</strong> spent <span className="muted">of no limit</span>
      </p>
    )
  const share = limit_usd > 0 ? Math.min(1, spent_usd / limit_usd) : 1
  return (
    <div className={styles.budget}>
      <p>
        <strong className="number">{money(left_usd)}</strong> left{' '}
        <span className="muted">
          of {money(limit_usd)}, {money(spent_usd)} spent
        </span>
      </p>
      <span className={styles.meter} aria-hidden="true" data-full={left_usd <= 0 || undefined}>
        <span style={{ width: `${100 * share}%` }} />
      </span>
      {left_usd <= 0 && <p>Used up: only models that cost nothing run until the oldest costs are a day old.</p>}
    </div>
  )
}
