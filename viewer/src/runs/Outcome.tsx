import { count, exact } from '../format'
import { Progress } from '../parts/Progress'
import styles from './Outcome.module.css'
import { outcomeWords, parts } from './outcome'
import type { Run } from './page'
import { countWords } from './progress'

/** The episodes of a run by outcome: a bar, where scores are not 0 or 1 their distribution, while it goes on how far it is. */
export function Outcome({ run }: { run: Run }) {
  if (run.state === 'running' || run.state === 'pending') {
    const { done, failed, planned } = run.counts
    return (
      <span className={styles.outcome} data-tip={countWords(run)}>
        <Progress done={done - failed} failed={failed} total={planned} />
      </span>
    )
  }
  const words = outcomeWords(run)
  if (run.bins != null) return <ScoreBins bins={run.bins} words={words} />
  const shown = parts(run)
  if (shown.length === 0) return <span className="muted">–</span>
  return (
    <span className={styles.outcome} role="img" aria-label={words} data-tip={words.replaceAll(', ', '\n')}>
      <span className={styles.bar}>
        {shown.map(({ id, n }) => (
          <span key={id} data-outcome={id} style={{ flexGrow: n }} />
        ))}
      </span>
    </span>
  )
}

function ScoreBins({ bins, words }: { bins: NonNullable<Run['bins']>; words: string }) {
  const most = Math.max(...bins.counts, 1)
  const { low, high } = bins
  const width = (high - low) / bins.counts.length
  const rows = bins.counts.flatMap((n, at) =>
    n > 0 ? [`${exact(low + at * width)} to ${exact(low + (at + 1) * width)}: ${count(n)}`] : [],
  )
  return (
    <span className={styles.outcome} role="img" aria-label={words} data-tip={[words, ...rows].join('\n')}>
      <span className={styles.bins}>
        {bins.counts.map((n, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: bins have no other name than their place
          <span key={at} style={{ height: `${(100 * n) / most}%`, minHeight: n > 0 ? 1 : undefined }} />
        ))}
      </span>
    </span>
  )
}
