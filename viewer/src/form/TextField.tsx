import type { InputHTMLAttributes } from 'react'
import { Field, type FieldProps } from './Field'

/** A field for one line, and what a plain input takes. */
interface TextFieldProps
  extends FieldProps,
    Omit<InputHTMLAttributes<HTMLInputElement>, 'onChange' | 'value' | 'id' | 'className'> {
  value: string
  onChange: (value: string) => void
}

/** A line of text, a password, a number. */
export function TextField({ label, hint, problem, optional, value, onChange, ...rest }: TextFieldProps) {
  return (
    <Field label={label} hint={hint} problem={problem} optional={optional}>
      {(control) => (
        <input type="text" {...rest} {...control} value={value} onChange={(event) => onChange(event.target.value)} />
      )}
    </Field>
  )
}
