import { Field, type FieldProps } from './Field'

/** A field for several lines. */
interface TextAreaProps extends FieldProps {
  value: string
  onChange: (value: string) => void
  rows?: number
  placeholder?: string
}

/** Several lines of text. */
export function TextArea({ label, hint, problem, optional, value, onChange, rows = 3, placeholder }: TextAreaProps) {
  return (
    <Field label={label} hint={hint} problem={problem} optional={optional}>
      {(control) => (
        <textarea
          {...control}
          rows={rows}
          placeholder={placeholder}
          value={value}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </Field>
  )
}
