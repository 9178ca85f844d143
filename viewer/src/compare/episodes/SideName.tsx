import { Marked } from '../../renderers/Marked'
import { brief } from '../../renderers/marks'
import styles from './episodes.module.css'
import type { Side } from './pair'

/** One of the two episodes: its letter, and what it is called. */
export function SideName({ side, name }: { side: Side; name: string }) {
  const letter = side.toUpperCase()
  return (
    <span className={styles.sideName}>
      <span className={styles.letter}>{letter}</span>
      {name !== letter && (
        <bdi>
          <Marked text={brief(name, 60)} />
        </bdi>
      )}
    </span>
  )
}
