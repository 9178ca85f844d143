/** The best score of a benchmark on the scale from its floor (random play) to its ceiling (the oracle). */

import type { Schema } from '../api/paths'
import { interval, measure } from '../format'
import { modelWords } from '../runs/model'
import styles from './BenchmarkList.module.css'
import { wholeScale } from './scale'
import { Whisker } from './Whisker'

export function BestScore({ benchmark }: { benchmark: Schema<'BenchmarkSummary'> }) {
  const { best, floor, ceiling, metric } = benchmark
  if (best === null) {
    const referred = floor !== null || ceiling !== null
    return <span className="muted">{referred ? 'only random and oracle runs yet' : 'no finished run yet'}</span>
  }
  const { value, low, high } = best.metric
  const scale = wholeScale([floor, ceiling, value, low, high])
  return (
    <span className={styles.best}>
      <span className={styles.lines}>
        <span title={metric ?? undefined}>
          <strong className={styles.value}>{measure(value)}</strong>{' '}
          <span className="muted">{interval(low, high)}</span>
        </span>
        <span className={styles.second} title={best.model}>
          <bdi>{modelWords(best.model).name}</bdi>
        </span>
      </span>
      <span className={styles.plot}>
        <Whisker metric={best.metric} scale={scale} floor={floor} ceiling={ceiling} reference={best.reference} />
      </span>
    </span>
  )
}
