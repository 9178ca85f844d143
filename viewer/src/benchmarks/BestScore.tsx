/** The best score of a benchmark on the scale from its floor (random play) to its ceiling (the oracle); it may be tied. */

import type { Schema } from '../api/types'
import { count, interval, measure } from '../format'
import { ModelName } from '../runs/ModelName'
import styles from './BenchmarkList.module.css'
import { wholeScale } from './scale'
import { Whisker } from './Whisker'

export function BestScore({ benchmark }: { benchmark: Schema<'BenchmarkSummary'> }) {
  const { best, floor, ceiling } = benchmark
  if (best === null && floor === null && ceiling === null) {
    return <span className="muted">{benchmark.runs === 0 ? '–' : 'no finished run yet'}</span>
  }
  const { value = null, low = null, high = null } = best?.metric ?? {}
  const scale = wholeScale([floor, ceiling, value, low, high])
  return (
    <span className={styles.best}>
      {best === null ? <References benchmark={benchmark} /> : <Best best={best} metric={benchmark.metric} />}
      <span className={styles.plot}>
        <Whisker
          metric={best?.metric ?? null}
          scale={scale}
          floor={floor}
          ceiling={ceiling}
          reference={best?.reference ?? ''}
        />
      </span>
    </span>
  )
}

function Best({ best, metric }: { best: Schema<'BenchmarkEntry'>; metric: string | null }) {
  const { value, low, high, weak, n_scored: scored, n_planned: planned } = best.metric
  return (
    <span className={styles.lines}>
      <span data-tip={metric ?? undefined}>
        <strong className={styles.value}>{measure(value)}</strong>{' '}
        <span className="muted">{interval(low, high, weak)}</span>
      </span>
      <span className={styles.second}>
        <ModelName model={best.model} short /> n={count(scored)}/{count(planned)}
      </span>
    </span>
  )
}

function References({ benchmark: { floor, ceiling } }: { benchmark: Schema<'BenchmarkSummary'> }) {
  return (
    <span className={styles.lines}>
      <span className="muted">no models yet</span>
      <span className={styles.second}>{referenceWords(floor, ceiling)}</span>
    </span>
  )
}

function referenceWords(floor: number | null, ceiling: number | null): string {
  if (floor === null) return `oracle ${measure(ceiling)}`
  return ceiling === null ? `random ${measure(floor)}` : `from ${measure(floor)} to ${measure(ceiling)}`
}
