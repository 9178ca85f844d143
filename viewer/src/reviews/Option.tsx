import { Key } from '../parts/Key'
import styles from './reviews.module.css'

interface OptionProps {
  type: 'radio' | 'checkbox'
  name?: string
  title: string
  /** Its key on the keyboard, or nothing. */
  keys: string
  checked: boolean
  onChange: () => void
}

/** One thing that can be said, as a large target with its key. */
export function Option({ type, name, title, keys, checked, onChange }: OptionProps) {
  return (
    <label className={styles.option} data-on={checked || undefined}>
      <input type={type} name={name} checked={checked} onChange={onChange} />
      <span>{title}</span>
      {keys !== '' && (
        <span className={styles.key} aria-hidden="true">
          <Key keys={keys} />
        </span>
      )}
    </label>
  )
}
