import { useState } from 'react'
import { ApiError } from '../api/error'
import { ask } from '../api/platform'
import { Form } from '../form/Form'
import { SelectField } from '../form/SelectField'
import { TextField } from '../form/TextField'
import { Button } from '../parts/Button'
import { useChange } from '../platform/useChange'
import type { Made } from './UsersView'

/** The form for a new account; a password that is left out is made up and shown once. */
export function AddUser({ onPassword }: { onPassword: (made: Made) => void }) {
  const [username, setUsername] = useState('')
  const [password, setPassword] = useState('')
  const [role, setRole] = useState('member')
  const [tried, setTried] = useState(false)
  const add = useChange(
    () =>
      ask('post', '/v1/admin/users', {
        body: { username: username.trim(), password: password || null, role: role === 'admin' ? 'admin' : 'member' },
      }),
    {
      silent: true,
      done: `${username} has an account now.`,
      after: (user) => {
        if (user.password) onPassword({ username: user.username, password: user.password })
        setUsername('')
        setPassword('')
        setTried(false)
      },
    },
  )
  const fields = add.error instanceof ApiError ? add.error.fields : {}
  return (
    <Form
      onSubmit={() => {
        setTried(true)
        if (username.trim() !== '') add.mutate(undefined)
      }}
      error={add.error}
      title="Nobody was added"
      actions={
        <Button type="submit" busy={add.isPending}>
          Add
        </Button>
      }
    >
      <TextField
        label="User name"
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        maxLength={64}
        value={username}
        onChange={setUsername}
        problem={fields.username ?? (tried && username.trim() === '' ? 'Write a user name.' : undefined)}
      />
      <TextField
        label="Password"
        optional
        hint="Left empty, one is made up and shown once."
        type="password"
        autoComplete="new-password"
        value={password}
        onChange={setPassword}
        problem={fields.password}
      />
      <SelectField
        label="Role"
        value={role}
        onChange={setRole}
        options={[
          { value: 'member', label: 'member' },
          { value: 'admin', label: 'administrator: may do everything' },
        ]}
      />
    </Form>
  )
}
