import { useId } from 'react'
import styles from './Select.module.css'

/** One of several words to choose. */
interface SelectProps<Value extends string> {
  label: string
  /** Keep the label for those who cannot see the page only. */
  hideLabel?: boolean
  /** Without a frame, beside the title of a panel. */
  quiet?: boolean
  options: readonly { value: Value; label?: string }[]
  value: Value
  onChange: (value: Value) => void
}

/** A choice of one. */
export function Select<Value extends string>({
  label,
  hideLabel = false,
  quiet = false,
  options,
  value,
  onChange,
}: SelectProps<Value>) {
  const id = useId()
  return (
    <span className={styles.field}>
      <label htmlFor={id} className={hideLabel ? 'hidden-text' : styles.label}>
        {label}
      </label>
      <select
        id={id}
        className={styles.select}
        data-quiet={quiet || undefined}
        value={value}
        onChange={(event) => {
          const chosen = options.find((option) => option.value === event.target.value)
          if (chosen) onChange(chosen.value)
        }}
      >
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.label ?? option.value}
          </option>
        ))}
      </select>
    </span>
  )
}
