/** What the lines behind the intervals stand for. */

import { measure } from '../format'
import styles from './References.module.css'

export function References({ floor, ceiling }: { floor: number | null; ceiling: number | null }) {
  if (floor === null && ceiling === null) {
    return (
      <p className={styles.references}>
        Run <code>builtin/random</code> and <code>builtin/oracle</code> to see how far the models are from chance and
        from perfect play.
      </p>
    )
  }
  return (
    <p className={styles.references}>
      {floor !== null && (
        <span className={styles.key} data-kind="floor">
          floor: random play, {measure(floor)}
        </span>
      )}
      {ceiling !== null && (
        <span className={styles.key} data-kind="ceiling">
          ceiling: the oracle, {measure(ceiling)}
        </span>
      )}
    </p>
  )
}
