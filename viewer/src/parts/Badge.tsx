import type { ReactNode } from 'react'
import styles from './Badge.module.css'
import { Icon, type IconName } from './Icon'

/** What a badge is about; the colour never says it alone. */
export type Tone = 'plain' | 'good' | 'bad' | 'warn' | 'live' | 'idle'

/** A short word with a soft background. */
export function Badge({
  tone = 'plain',
  icon,
  title,
  children,
}: {
  tone?: Tone
  icon?: IconName
  title?: string
  children: ReactNode
}) {
  return (
    <span className={styles.badge} data-tone={tone} data-tip={title}>
      {icon && <Icon name={icon} size={13} />}
      <span className={styles.text}>{children}</span>
    </span>
  )
}
