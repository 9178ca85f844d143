import type { CSSProperties } from 'react'
import styles from './Charts.module.css'

/** What the colours of a chart stand for. */
export function Legend({ entries }: { entries: readonly { label: string; colour: string }[] }) {
  return (
    <div className={styles.legend}>
      {entries.map(({ label, colour }) => (
        <span key={label} className={styles.key} style={{ '--key-colour': colour } as CSSProperties}>
          {label}
        </span>
      ))}
    </div>
  )
}
