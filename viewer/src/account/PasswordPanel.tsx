import { useState } from 'react'
import { post } from '../api/client'
import { ApiError } from '../api/error'
import { PASSWORD_LENGTH } from '../api/words'
import { Form } from '../form/Form'
import { TextField } from '../form/TextField'
import { Button } from '../parts/Button'
import { useChange } from '../parts/useChange'

/** The form that changes one's password; other browsers are signed out. */
export function PasswordPanel() {
  const [old, setOld] = useState('')
  const [fresh, setFresh] = useState('')
  const [tried, setTried] = useState(false)
  const change = useChange(() => post('/api/auth/password', { body: { old, new: fresh, refresh: false } }), {
    silent: true,
    done: 'Password changed. All other sessions were signed out.',
    after: () => {
      setOld('')
      setFresh('')
      setTried(false)
    },
  })
  const fields = change.error instanceof ApiError ? change.error.fields : {}
  const short = fresh.length < PASSWORD_LENGTH
  return (
    <Form
      onSubmit={() => {
        setTried(true)
        if (old !== '' && !short) change.mutate(undefined)
      }}
      error={change.error}
      title="The password could not be changed"
      actions={
        <Button type="submit" busy={change.isPending}>
          Change password
        </Button>
      }
    >
      <TextField
        label="Current password"
        type="password"
        autoComplete="current-password"
        value={old}
        onChange={setOld}
        problem={fields.old ?? (tried && old === '' ? 'Enter your current password.' : undefined)}
      />
      <TextField
        label="New password"
        type="password"
        autoComplete="new-password"
        hint={`At least ${PASSWORD_LENGTH} characters.`}
        value={fresh}
        onChange={setFresh}
        problem={fields.new ?? (tried && short ? `At least ${PASSWORD_LENGTH} characters.` : undefined)}
      />
    </Form>
  )
}
