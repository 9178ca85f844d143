import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { post } from '../api/client'
import { ApiError } from '../api/error'
import { Form } from '../form/Form'
import { TextField } from '../form/TextField'
import { Button } from '../parts/Button'
import { openPage } from './next'

/** Name and password. */
export function PasswordForm({ next }: { next: string }) {
  const [username, setUsername] = useState('')
  const [password, setPassword] = useState('')
  const [missing, setMissing] = useState(false)
  const { mutate, isPending, error } = useMutation({
    mutationFn: () => post('/api/auth/login', { body: { username: username.trim(), password, refresh: false } }),
    onSuccess: () => openPage(next),
  })
  const submit = () => {
    const empty = username.trim() === '' || password === ''
    setMissing(empty)
    if (!empty) mutate()
  }
  const fields = error instanceof ApiError ? error.fields : {}
  return (
    <Form
      onSubmit={submit}
      error={error}
      title="Sign-in failed"
      actions={
        <Button type="submit" look="primary" busy={isPending}>
          Sign in
        </Button>
      }
    >
      <TextField
        label="User name"
        autoComplete="username"
        autoCapitalize="none"
        spellCheck={false}
        value={username}
        onChange={setUsername}
        problem={fields.username ?? (missing && username.trim() === '' ? 'Enter your user name.' : undefined)}
      />
      <TextField
        label="Password"
        type="password"
        autoComplete="current-password"
        value={password}
        onChange={setPassword}
        problem={fields.password ?? (missing && password === '' ? 'Enter your password.' : undefined)}
      />
    </Form>
  )
}
