import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { post } from '../api/client'
import { ApiError } from '../api/error'
import { Form } from '../form/Form'
import { TextField } from '../form/TextField'
import { Button } from '../parts/Button'
import { useChange } from '../parts/useChange'

/** A field for the name of a new team. */
export function CreateTeam() {
  const [name, setName] = useState('')
  const [tried, setTried] = useState(false)
  const navigate = useNavigate()
  const { mutate, isPending, error } = useChange(() => post('/api/teams', { body: { name: name.trim() } }), {
    silent: true,
    after: (team) => void navigate({ to: '/teams/$teamId', params: { teamId: team.team_id } }),
  })
  const told = error instanceof ApiError ? error.fields.name : undefined
  return (
    <Form
      onSubmit={() => {
        setTried(true)
        if (name.trim() !== '') mutate(undefined)
      }}
      error={told ? undefined : error}
      title="The team could not be created"
      actions={
        <Button type="submit" busy={isPending}>
          Create team
        </Button>
      }
    >
      <TextField
        label="Name"
        maxLength={255}
        value={name}
        onChange={setName}
        problem={told ?? (tried && name.trim() === '' ? 'Enter a name.' : undefined)}
      />
    </Form>
  )
}
