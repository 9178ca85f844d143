import { useState } from 'react'
import { post } from '../api/client'
import { ApiError } from '../api/error'
import { Choice } from '../form/Choice'
import { Form } from '../form/Form'
import { SelectField } from '../form/SelectField'
import { TextField } from '../form/TextField'
import { Button } from '../parts/Button'
import { useChange } from '../parts/useChange'
import { Secret } from './Secret'

const DAYS = [
  { value: '7', label: '7 days' },
  { value: '30', label: '30 days' },
  { value: '90', label: '90 days' },
  { value: '365', label: '1 year' },
  { value: '', label: 'never' },
]

/** The form for a token, and the token once it is made: it is shown this once. */
export function CreateToken() {
  const [name, setName] = useState('')
  const [scope, setScope] = useState<'read' | 'write'>('read')
  const [days, setDays] = useState('90')
  const [tried, setTried] = useState(false)
  const made = useChange(
    () => post('/api/tokens', { body: { name: name.trim(), scope, days: days ? Number(days) : null } }),
    {
      silent: true,
      after: () => {
        setName('')
        setTried(false)
      },
    },
  )
  const told = made.error instanceof ApiError ? made.error.fields.name : undefined
  return (
    <Form
      onSubmit={() => {
        setTried(true)
        if (name.trim() !== '') made.mutate(undefined)
      }}
      error={told ? undefined : made.error}
      title="The token could not be created"
      actions={
        <Button type="submit" busy={made.isPending}>
          Create token
        </Button>
      }
    >
      {made.data && <Secret label={`Token ${made.data.name}`} secret={made.data.token} />}
      <TextField
        label="Name"
        hint="What the token is for."
        placeholder="CI"
        maxLength={100}
        value={name}
        onChange={setName}
        problem={told ?? (tried && name.trim() === '' ? 'Enter a name.' : undefined)}
      />
      <Choice
        label="Scope"
        value={scope}
        onChange={setScope}
        options={[
          { value: 'read', label: 'read', hint: 'read everything you can see' },
          {
            value: 'write',
            label: 'read and write',
            hint: 'also start runs, submit environments and change what is yours',
          },
        ]}
      />
      <SelectField label="Expires" value={days} onChange={setDays} options={DAYS} />
    </Form>
  )
}
