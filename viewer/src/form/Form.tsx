import type { ReactNode } from 'react'
import { Failure } from '../parts/Failure'
import styles from './form.module.css'

/** Fields, what is done with them, and why that failed. */
interface FormProps {
  label?: string
  onSubmit: () => void
  /** Why the last try failed, unless it is said at the fields. */
  error?: unknown
  title?: string
  /** Buttons; the one of type `submit` sends. */
  actions: ReactNode
  children: ReactNode
}

/** A form whose problems are told by us, not by the browser. */
export function Form({ label, onSubmit, error, title, actions, children }: FormProps) {
  return (
    <form
      className={styles.form}
      aria-label={label}
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        onSubmit()
      }}
    >
      {children}
      {error != null && <Failure error={error} title={title} />}
      <div className={styles.actions}>{actions}</div>
    </form>
  )
}
