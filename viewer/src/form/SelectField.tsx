import { Field, type FieldProps } from './Field'

/** One of several words; `disabled` ones are shown with the reason in their label. */
interface SelectFieldProps extends FieldProps {
  value: string
  onChange: (value: string) => void
  options: readonly { value: string; label?: string; disabled?: boolean }[]
}

/** A choice of one. */
export function SelectField({ label, hint, problem, optional, value, onChange, options }: SelectFieldProps) {
  return (
    <Field label={label} hint={hint} problem={problem} optional={optional}>
      {(control) => (
        <select {...control} value={value} onChange={(event) => onChange(event.target.value)}>
          {options.map((option) => (
            <option key={option.value} value={option.value} disabled={option.disabled}>
              {option.label ?? option.value}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}
