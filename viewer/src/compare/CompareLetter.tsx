import type { CSSProperties } from 'react'
import styles from './CompareLetter.module.css'

/** The letter of a run on its colour. */
export function CompareLetter({ letter, colour }: { letter: string; colour: string }) {
  return (
    <span className={styles.letter} style={{ '--letter-colour': colour } as CSSProperties}>
      {letter}
    </span>
  )
}
