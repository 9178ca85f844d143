import type { ButtonHTMLAttributes } from 'react'
import styles from './Button.module.css'
import { Icon, type IconName } from './Icon'

/** A button's looks and everything that a plain one takes. */
export interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  /** `primary` for the one thing to do, `danger` for what cannot be undone, `quiet` without a frame. */
  look?: 'plain' | 'primary' | 'danger' | 'quiet'
  icon?: IconName
  /** Shown as working and not pressable. */
  busy?: boolean
}

/** A button with a text. */
export function Button({ look = 'plain', icon, busy = false, disabled, className, children, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      className={[styles.button, className].filter(Boolean).join(' ')}
      data-look={look}
      aria-busy={busy || undefined}
      disabled={disabled || busy}
      {...rest}
    >
      {icon && <Icon name={icon} />}
      {children}
    </button>
  )
}
