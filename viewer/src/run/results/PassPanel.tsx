/** The share of samples that reached the threshold, with its interval, in every reading. */

import type { Schema } from '../../api/types'
import { exact, measure } from '../../format'
import { Panel } from '../../parts/Panel'
import { isGoing } from '../headline'
import { MetricReading } from './MetricReading'
import styles from './results.module.css'
import type { Results } from './types'
import { attemptedWords } from './words'

export function PassPanel({ results, run }: { results: Results; run: Schema<'RunDetail'> }) {
  const { pass_rate: rate, pass_threshold: threshold, seed_pass_rate: attempted } = results
  return (
    <Panel
      title="Pass rate"
      note={threshold === null ? undefined : `reward ${results.pass_inclusive ? '≥' : '>'} ${measure(threshold)}`}
    >
      {rate === null ? (
        <p className="muted">This run has no pass rate.</p>
      ) : (
        <MetricReading metric={rate} going={isGoing(run)} />
      )}
      {attempted !== null && (
        <p className={styles.attempted}>
          <span data-tip={exact(attempted)}>{measure(attempted)}</span>{' '}
          <span className="muted">of attempted samples ({attemptedWords(results)}).</span>
        </p>
      )}
    </Panel>
  )
}
