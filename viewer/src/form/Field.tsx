import { type ReactNode, useId } from 'react'
import { Icon } from '../parts/Icon'
import styles from './form.module.css'

/** What every field of a form has. */
export interface FieldProps {
  label: string
  /** One line below: what to write. */
  hint?: ReactNode
  /** What is wrong with what was written. */
  problem?: string
  /** May be left empty; said beside the label. */
  optional?: boolean
}

/** What the control inside a field is given, so that its label, hint and problem belong to it. */
interface ControlProps {
  id: string
  className: string | undefined
  'aria-describedby': string | undefined
  'aria-invalid': boolean | undefined
}

/** A label, a control, its hint, and what is wrong with it. */
export function Field({
  label,
  hint,
  problem,
  optional = false,
  children,
}: FieldProps & { children: (control: ControlProps) => ReactNode }) {
  const id = useId()
  const said = [hint && `${id}-hint`, problem && `${id}-problem`].filter(Boolean).join(' ')
  return (
    <div className={styles.field}>
      <label htmlFor={id} className={styles.label}>
        {label} {optional && <span className={styles.optional}>optional</span>}
      </label>
      {children({
        id,
        className: styles.input,
        'aria-describedby': said || undefined,
        'aria-invalid': problem !== undefined || undefined,
      })}
      {problem && (
        <span id={`${id}-problem`} className={styles.problem} role="alert">
          <Icon name="error" size={14} />
          <span>{problem}</span>
        </span>
      )}
      {hint && (
        <span id={`${id}-hint`} className={styles.hint}>
          {hint}
        </span>
      )}
    </div>
  )
}
