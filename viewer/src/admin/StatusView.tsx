import { useQuery } from '@tanstack/react-query'
import { documentQuery } from '../api/query'
import { compact, count, duration } from '../format'
import { Loaded } from '../parts/Loaded'
import { Money } from '../parts/Money'
import { Panel } from '../parts/Panel'
import styles from '../parts/panels.module.css'
import { runWord } from '../run/headline'
import { FailureTable } from './FailureTable'
import { Figures } from './Figures'
import { WorkerTable } from './WorkerTable'

const LOOK_AGAIN = 3_000

/** How the server goes: what waits, who works, what failed. */
export function StatusView() {
  const status = useQuery({ ...documentQuery('/api/admin/status'), refetchInterval: LOOK_AGAIN })
  return (
    <Loaded query={status} title="The status could not be loaded" height="24rem">
      {(found) => (
        <div className={styles.stack}>
          <Figures
            figures={[
              { label: 'Queued runs', value: count(found.queue.runs) },
              { label: 'Oldest queued run', value: found.queue.runs > 0 ? duration(found.queue.oldest_seconds) : '–' },
              { label: 'Active runs', value: count(found.in_flight.active_run_tasks) },
              { label: 'Active episodes', value: count(found.in_flight.active_episode_tasks) },
              { label: 'Builds', value: count(found.in_flight.active_builds + found.queue.builds) },
              {
                label: 'Total tokens',
                value: compact(Object.values(found.tokens).reduce((sum, one) => sum + one, 0)),
              },
              { label: 'Total cost', value: <Money usd={found.cost_usd} /> },
            ]}
          />
          <Panel title="Workers" flush>
            <WorkerTable workers={found.workers} />
          </Panel>
          <Panel title="Recent failures" flush>
            <FailureTable failures={found.recent_failures} />
          </Panel>
          <div className={styles.list}>
            <Counts title="Runs" counts={found.counts.runs} word={runWord} />
            <Counts title="Episodes" counts={found.counts.episodes} />
            <Counts title="Environments" counts={found.counts.developer_envs} />
            <Counts title="Builds" counts={found.counts.builds} />
          </div>
          <p className="muted">mesocosm {found.version}</p>
        </div>
      )}
    </Loaded>
  )
}

/** Numbers by state; `word` is how a state is called here. */
interface CountsProps {
  title: string
  counts: Record<string, number>
  word?: (state: string) => string
}

function Counts({ title, counts, word = String }: CountsProps) {
  const entries = Object.entries(counts)
  return (
    <Panel title={title}>
      {entries.length === 0 ? (
        <p className="muted">None yet.</p>
      ) : (
        <dl className={styles.terms}>
          {entries.map(([state, n]) => (
            <div key={state} className={styles.pair}>
              <dt>{word(state)}</dt>
              <dd className="number">{count(n)}</dd>
            </div>
          ))}
        </dl>
      )}
    </Panel>
  )
}
