import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { post } from '../api/client'
import { ApiError } from '../api/error'
import { PASSWORD_LENGTH } from '../api/words'
import { Form } from '../form/Form'
import { TextField } from '../form/TextField'
import { Button } from '../parts/Button'
import { openPage } from './next'

/** Name and password of a new account. */
export function SignUpForm({ next }: { next: string }) {
  const [username, setUsername] = useState('')
  const [password, setPassword] = useState('')
  const [tried, setTried] = useState(false)
  const { mutate, isPending, error } = useMutation({
    mutationFn: async () => {
      const body = { username: username.trim(), password }
      await post('/api/auth/sign-up', { body })
      await post('/api/auth/login', { body: { ...body, refresh: false } })
    },
    onSuccess: () => openPage(next),
  })
  const fields = error instanceof ApiError ? error.fields : {}
  const short = password.length < PASSWORD_LENGTH
  return (
    <Form
      onSubmit={() => {
        setTried(true)
        if (username.trim() !== '' && !short) mutate()
      }}
      error={error}
      title="The account could not be created"
      actions={
        <Button type="submit" look="primary" busy={isPending}>
          Create account
        </Button>
      }
    >
      <TextField
        label="User name"
        hint="Letters, digits and . _ @ + -. Visible to others."
        autoComplete="username"
        autoCapitalize="none"
        spellCheck={false}
        maxLength={64}
        value={username}
        onChange={setUsername}
        problem={fields.username ?? (tried && username.trim() === '' ? 'Enter a user name.' : undefined)}
      />
      <TextField
        label="Password"
        hint={`At least ${PASSWORD_LENGTH} characters; several words are easy to remember and hard to guess.`}
        type="password"
        autoComplete="new-password"
        value={password}
        onChange={setPassword}
        problem={fields.password ?? (tried && short ? `At least ${PASSWORD_LENGTH} characters.` : undefined)}
      />
    </Form>
  )
}
