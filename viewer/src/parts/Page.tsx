import { type ReactNode, useEffect } from 'react'
import styles from './Page.module.css'

/** What a page says at its top, and what follows. */
interface PageProps {
  /** Heading and title of the window. */
  title: string
  /** What stands in the heading instead of the plain title, when that is more than a text. */
  heading?: ReactNode
  /** Above the heading: where one came from. */
  trail?: ReactNode
  /** Beside the heading: status, tags. */
  aside?: ReactNode
  /** At the right: buttons. */
  actions?: ReactNode
  /** Below the heading: one line. */
  note?: ReactNode
  children?: ReactNode
}

/** A page with its heading. */
export function Page({ title, heading, trail, aside, actions, note, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · mesocosm`
  }, [title])
  return (
    <div className={styles.page}>
      <header className={styles.head}>
        {trail && <div className={styles.trail}>{trail}</div>}
        <div className={styles.line}>
          <h1 className={styles.title}>{heading ?? title}</h1>
          {aside}
          {actions && <div className={styles.actions}>{actions}</div>}
        </div>
        {note && <div className={styles.note}>{note}</div>}
      </header>
      {children}
    </div>
  )
}
