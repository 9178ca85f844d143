/** How much of a benchmark was run, and whether it can run here. */

import type { Schema } from '../api/types'
import { Icon } from '../parts/Icon'
import styles from './BenchmarkList.module.css'
import { coverageWords, readiness } from './coverage'

export function CoverageView({ benchmark: { coverage, lacking } }: { benchmark: Schema<'BenchmarkSummary'> }) {
  const { word, numbers, title } = coverageWords(coverage)
  const { word: here, title: why, ready } = readiness(lacking)
  return (
    <span className={styles.lines}>
      <span data-tip={title}>
        <span className={coverage.state === 'never' ? 'muted' : undefined}>{word}</span>
        {numbers !== '' && <span className="muted"> · {numbers}</span>}
      </span>
      {ready === false && (
        <span className={styles.lacking} data-tip={why}>
          <Icon name="warning" size={13} /> {here}
        </span>
      )}
      {ready === true && coverage.state === 'never' && (
        <span className={styles.second} data-tip={why}>
          {here}
        </span>
      )}
    </span>
  )
}
