import type { ReactNode } from 'react'
import { Command } from './Command'
import styles from './Empty.module.css'
import { Logo } from './Logo'

/** Nothing to show: why, and what would change that. */
export function Empty({ title, children, command }: { title: string; children?: ReactNode; command?: string }) {
  return (
    <div className={styles.empty}>
      <Logo size={36} />
      <strong>{title}</strong>
      {children && <div className={styles.words}>{children}</div>}
      {command && <Command>{command}</Command>}
    </div>
  )
}
