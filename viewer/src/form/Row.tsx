import type { ReactNode } from 'react'
import styles from './form.module.css'

/** Fields that stand beside each other where there is room. */
export function Row({ children }: { children: ReactNode }) {
  return <div className={styles.row}>{children}</div>
}
