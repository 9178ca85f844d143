import styles from './CompareBenchmark.module.css'
import type { Label } from './CompareLabels'
import { CompareLetter } from './CompareLetter'

/** A run in a sentence or a table: its letter and its name. */
export function CompareWho({ label }: { label: Label | undefined }) {
  if (label === undefined) return null
  return (
    <span className={styles.who}>
      <CompareLetter letter={label.letter} colour={label.colour} />
      <bdi>{label.name}</bdi>
    </span>
  )
}
