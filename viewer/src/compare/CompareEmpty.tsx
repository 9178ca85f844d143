import { Key } from '../parts/Key'
import styles from './CompareEmpty.module.css'

/** How runs are chosen, while there are not enough of them. */
export function CompareEmpty({ chosen }: { chosen: number }) {
  return (
    <section className={styles.empty} aria-labelledby="choose-runs">
      <h2 id="choose-runs">{chosen === 0 ? 'Select two or more runs' : 'Select one more run'}</h2>
      <p>
        Add runs here, starting with the baseline. You can also select them in the list of runs with <Key keys="x" />{' '}
        and press <Key keys="c" />.
      </p>
      <p className="muted">
        Runs of the same benchmark are compared task by task: how large the difference is, whether it is significant,
        and which tasks flipped.
      </p>
    </section>
  )
}
