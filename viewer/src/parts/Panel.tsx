import type { ReactNode } from 'react'
import { useId } from 'react'
import styles from './Panel.module.css'

/** A framed part of a page with its heading. */
interface PanelProps {
  title?: ReactNode
  actions?: ReactNode
  note?: ReactNode
  /** No padding around the content: tables, timelines. */
  flush?: boolean
  children: ReactNode
}

/** A surface that holds one thing. */
export function Panel({ title, actions, note, flush = false, children }: PanelProps) {
  const id = useId()
  return (
    <section className={styles.panel} aria-labelledby={title ? id : undefined}>
      {(title || actions) && (
        <header className={styles.head}>
          <h2 id={id}>{title}</h2>
          {note && <span className={styles.note}>{note}</span>}
          {actions && <div className={styles.actions}>{actions}</div>}
        </header>
      )}
      <div className={flush ? styles.flush : styles.body}>{children}</div>
    </section>
  )
}
