import { exact, measure, signed } from '../format'
import type { Run } from './page'
import styles from './RunList.module.css'

/** The best published score of the same unit and split, and how far the run is from it. */
export function PublishedScore({ run: { published } }: { run: Run }) {
  if (published === null) return <span className="muted">–</span>
  const { label, value, delta, source } = published
  const distance = delta === null ? '' : `; this run: ${exact(delta)} to it`
  return (
    <span className={styles.lines} title={`${label}: ${exact(value)}${distance}\n${source}`}>
      <span className="number">{measure(value)}</span>
      <span className={styles.second}>{delta === null ? 'no score' : signed(delta)}</span>
    </span>
  )
}
