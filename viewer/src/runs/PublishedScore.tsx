import { exact, interval, measure, signed } from '../format'
import type { Run } from './page'
import { distanceOf } from './published'
import styles from './RunList.module.css'

/** The best published score of the same unit and split, and how far the run is from it. */
export function PublishedScore({ run }: { run: Run }) {
  const { published } = run
  if (published === null) return <span className="muted">–</span>
  const { label, value, source } = published
  const distance = distanceOf(run)
  const words = distance && `; this run: ${exact(distance.value)}, ${distance.low} to ${distance.high}, to it`
  return (
    <span className={styles.lines} data-tip={`${label}: ${exact(value)}${words ?? ''}\n${source}`}>
      <span className="number">{measure(value)}</span>
      <span className={styles.second}>{distanceWords(run)}</span>
    </span>
  )
}

function distanceWords(run: Run): string {
  const distance = distanceOf(run)
  if (distance !== null) return `${signed(distance.value)} ${interval(distance.low, distance.high)}`
  return run.published?.delta == null ? 'no score' : 'no interval'
}
