import type { ButtonHTMLAttributes } from 'react'
import styles from './TextButton.module.css'

/** A small button among text: to show more of something, to copy it. */
interface TextButtonProps extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'type' | 'className'> {
  size?: 'xs' | 'sm'
}

/** A button that looks like a link. */
export function TextButton({ size = 'sm', ...rest }: TextButtonProps) {
  return <button type="button" className={styles.button} data-size={size} {...rest} />
}
