import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { post } from '../api/client'
import { ApiError } from '../api/error'
import { Form } from '../form/Form'
import { TextField } from '../form/TextField'
import { Button } from '../parts/Button'
import { useChange } from '../parts/useChange'

/** A field for the name of a new workspace. */
export function CreateWorkspace() {
  const [name, setName] = useState('')
  const [tried, setTried] = useState(false)
  const navigate = useNavigate()
  const { mutate, isPending, error } = useChange(() => post('/api/workspaces', { body: { name: name.trim() } }), {
    silent: true,
    after: (made) => void navigate({ to: '/workspaces/$workspaceId', params: { workspaceId: made.id } }),
  })
  const told = error instanceof ApiError ? error.fields.name : undefined
  return (
    <Form
      onSubmit={() => {
        setTried(true)
        if (name.trim() !== '') mutate(undefined)
      }}
      error={told ? undefined : error}
      title="The workspace could not be created"
      actions={
        <Button type="submit" busy={isPending}>
          Create workspace
        </Button>
      }
    >
      <TextField
        label="Name"
        maxLength={64}
        value={name}
        onChange={setName}
        problem={told ?? (tried && name.trim() === '' ? 'Enter a name.' : undefined)}
      />
    </Form>
  )
}
