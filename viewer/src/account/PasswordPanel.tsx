import { useState } from 'react'
import { ApiError } from '../api/error'
import { ask } from '../api/platform'
import { PASSWORD_LENGTH } from '../api/words'
import { Form } from '../form/Form'
import { TextField } from '../form/TextField'
import { Button } from '../parts/Button'
import { useChange } from '../platform/useChange'

/** The form that changes one's password; other browsers are signed out. */
export function PasswordPanel() {
  const [old, setOld] = useState('')
  const [fresh, setFresh] = useState('')
  const [tried, setTried] = useState(false)
  const change = useChange(() => ask('post', '/v1/auth/password', { body: { old, new: fresh, refresh: false } }), {
    silent: true,
    done: 'The password is changed. Everywhere else you are signed out.',
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
      title="The password is as it was"
      actions={
        <Button type="submit" busy={change.isPending}>
          Change it
        </Button>
      }
    >
      <TextField
        label="Password until now"
        type="password"
        autoComplete="current-password"
        value={old}
        onChange={setOld}
        problem={fields.old ?? (tried && old === '' ? 'Write the password that you have.' : undefined)}
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
