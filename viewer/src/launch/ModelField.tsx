import { useQuery } from '@tanstack/react-query'
import { useId } from 'react'
import { documentQuery } from '../api/query'
import type { FieldProps } from '../form/Field'
import { TextField } from '../form/TextField'
import { place } from '../place'

interface ModelFieldProps extends Omit<FieldProps, 'label'> {
  placeholder: string
  value: string
  onChange: (model: string) => void
}

/** The name of one model; a server suggests those that it offers. */
export function ModelField(props: ModelFieldProps) {
  const id = useId()
  const offered = useQuery({ ...documentQuery('/api/models'), enabled: place.mode === 'server' })
  const names = offered.data?.models.map(({ name }) => name).filter((name) => !name.endsWith('*')) ?? []
  return (
    <>
      <TextField label="Model" list={names.length > 0 ? id : undefined} autoComplete="off" {...props} />
      {names.length > 0 && (
        <datalist id={id}>
          {names.map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
      )}
    </>
  )
}
