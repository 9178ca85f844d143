import type { ReactNode } from 'react'
import styles from './PlainTable.module.css'

/** A table of few rows. */
interface PlainTableProps {
  label: string
  className?: string
  /** Head and body; cells with `data-numeric` are aligned to the right. */
  children: ReactNode
}

/** A small table; where it is too wide it scrolls, with a shadow at the side that has more. */
export function PlainTable({ label, className = '', children }: PlainTableProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable
    <section className={styles.scroll} aria-label={label} tabIndex={0}>
      <table className={`${styles.table} ${className}`}>{children}</table>
    </section>
  )
}
