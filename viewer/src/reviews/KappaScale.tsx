import type { Schema } from '../api/types'
import { kappaWords } from './kappa'
import styles from './reviews.module.css'

/** κ and its interval on a line from 0 to 1; what is below 0 stands at its beginning. */
export function KappaScale({ kappa }: { kappa: Schema<'IntervalDocument'> }) {
  const place = (value: number) => `${100 * Math.max(0, Math.min(1, value))}%`
  return (
    <span className={styles.scale} role="img" aria-label={`κ ${kappaWords(kappa)}`}>
      {kappa.low !== null && kappa.high !== null && (
        <span className={styles.range} style={{ left: place(kappa.low), right: `calc(100% - ${place(kappa.high)})` }} />
      )}
      <span className={styles.point} style={{ left: place(kappa.value) }} />
    </span>
  )
}
