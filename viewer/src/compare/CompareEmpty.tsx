import { Key } from '../parts/Key'
import styles from './CompareEmpty.module.css'

/** How runs are chosen, while there are not enough of them. */
export function CompareEmpty({ chosen }: { chosen: number }) {
  return (
    <section className={styles.empty} aria-labelledby="choose-runs">
      <h2 id="choose-runs">{chosen === 0 ? 'Choose two runs or more' : 'Choose one more run'}</h2>
      <p>
        Add them here, the baseline first. In the list of runs you can also select them with <Key keys="x" /> and press{' '}
        <Key keys="c" />.
      </p>
      <p className="muted">
        Runs of the same benchmark are compared task by task: by how much one is better, whether that could be chance,
        and which tasks changed sides.
      </p>
    </section>
  )
}
