import type { ReactNode } from 'react'
import styles from './head.module.css'

/** One named value of a line of values. */
export function Fact({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div className={styles.fact}>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  )
}
