import { type ReactNode, useId } from 'react'
import styles from './form.module.css'

/** Something to switch on. */
interface CheckProps {
  label: string
  hint?: ReactNode
  checked: boolean
  onChange: (checked: boolean) => void
}

/** A box to tick. */
export function Check({ label, hint, checked, onChange }: CheckProps) {
  const id = useId()
  return (
    <div className={styles.check}>
      <input type="checkbox" id={id} checked={checked} onChange={(event) => onChange(event.target.checked)} />
      <label htmlFor={id}>{label}</label>
      {hint && <span className={styles.hint}>{hint}</span>}
    </div>
  )
}
