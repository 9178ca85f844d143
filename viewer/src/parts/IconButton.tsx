import type { ButtonHTMLAttributes } from 'react'
import { Icon, type IconName } from './Icon'
import styles from './IconButton.module.css'

/** A picture, its words, and everything that a plain button takes. */
interface IconButtonProps extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'children'> {
  icon: IconName
  /** What it does; also shown when the pointer rests on it. */
  label: string
  size?: 'sm' | 'md'
}

/** A button with a picture only. */
export function IconButton({ icon, label, size = 'md', ...rest }: IconButtonProps) {
  return (
    <button type="button" className={styles.button} data-size={size} aria-label={label} data-tip={label} {...rest}>
      <Icon name={icon} size={size === 'sm' ? 14 : 16} />
    </button>
  )
}
