/** How long samples took, and what they cost. */

import { compact, duration, money, plural } from '../../format'
import { Panel } from '../../parts/Panel'
import { FigureList } from './FigureList'
import styles from './results.module.css'
import type { Results } from './types'

export function SpendPanel({ results: { latency, tokens, cost_usd: cost, counts } }: { results: Results }) {
  const each = cost === null || counts.done === 0 ? null : cost / counts.done
  return (
    <Panel title="Latency and cost" note={latency === null ? undefined : plural(latency.n, 'sample')}>
      <h3 className={styles.sub}>Latency per sample</h3>
      {latency === null ? (
        <p className="muted">No finished samples.</p>
      ) : (
        <FigureList
          figures={[
            { label: 'Mean', value: latency.mean, form: duration, unit: 's' },
            { label: 'p50', value: latency.p50, form: duration, unit: 's', hint: 'Half are faster' },
            { label: 'p90', value: latency.p90, form: duration, unit: 's' },
            { label: 'p95', value: latency.p95, form: duration, unit: 's' },
            { label: 'p99', value: latency.p99, form: duration, unit: 's' },
            { label: 'Max', value: latency.max, form: duration, unit: 's' },
          ]}
        />
      )}
      <h3 className={styles.sub}>Tokens and cost</h3>
      <FigureList
        figures={[
          { label: 'Input', value: tokens.prompt, form: compact, hint: `${compact(tokens.cached)} cached` },
          { label: 'Output', value: tokens.completion, form: compact },
          { label: 'Reasoning', value: tokens.reasoning, form: compact, hint: 'Included in the output' },
          { label: 'Tokens per sample', value: tokens.per_sample, form: compact, unit: 'tokens' },
          { label: 'Cost', value: cost, form: money, unit: 'US dollars' },
          { label: 'Cost per sample', value: each, form: money, unit: 'US dollars' },
        ]}
      />
    </Panel>
  )
}
