import { type ReactNode, useId } from 'react'
import styles from './form.module.css'

/** A few ways, each with its explanation. */
interface ChoiceProps<Value extends string> {
  label: string
  value: Value
  onChange: (value: Value) => void
  options: readonly { value: Value; label: string; hint?: ReactNode }[]
}

/** A choice of one where every way is explained. */
export function Choice<Value extends string>({ label, value, onChange, options }: ChoiceProps<Value>) {
  const name = useId()
  return (
    <fieldset className={styles.group}>
      <legend>{label}</legend>
      {options.map((option) => (
        <div key={option.value} className={styles.check}>
          <input
            type="radio"
            id={`${name}-${option.value}`}
            name={name}
            checked={option.value === value}
            onChange={() => onChange(option.value)}
          />
          <label htmlFor={`${name}-${option.value}`}>{option.label}</label>
          {option.hint && <span className={styles.hint}>{option.hint}</span>}
        </div>
      ))}
    </fieldset>
  )
}
