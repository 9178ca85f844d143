import { count } from '../format'
import styles from './Progress.module.css'

/** How far a run is. */
interface ProgressProps {
  /** Episodes that ended, failed ones not counted in. */
  done: number
  failed?: number
  /** All that are planned; the rest is owed. */
  total: number
  /** Write the numbers beside the bar. */
  numbers?: boolean
}

/** A bar of what is done, what failed and what is owed. */
export function Progress({ done, failed = 0, total, numbers = false }: ProgressProps) {
  const share = (part: number) => `${total > 0 ? (100 * part) / total : 0}%`
  const said = `${count(done)} done, ${count(failed)} failed, ${count(Math.max(0, total - done - failed))} pending`
  return (
    <span className={styles.progress} data-tip={said}>
      <span
        className={styles.bar}
        role="progressbar"
        aria-label="Episodes"
        aria-valuemin={0}
        aria-valuemax={total}
        aria-valuenow={Math.min(total, done + failed)}
        aria-valuetext={said}
      >
        <span className={styles.done} style={{ width: share(done) }} />
        <span className={styles.failed} style={{ width: share(failed) }} />
      </span>
      {numbers && (
        <span className={styles.numbers}>
          {count(done + failed)}/{count(total)}
        </span>
      )}
    </span>
  )
}
