/** What the form for a new account holds, and sending it. */

import { useState } from 'react'
import { post } from '../api/client'
import { useChange } from '../parts/useChange'
import type { Made } from './UsersView'

const EMPTY = { username: '', password: '', role: 'member' }

/** The fields, whether they were sent once, and sending them; a password that was made up is handed on. */
export function useNewUser(onPassword: (made: Made) => void) {
  const [form, setForm] = useState(EMPTY)
  const [tried, setTried] = useState(false)
  const username = form.username.trim()
  const add = useChange(
    () =>
      post('/api/admin/users', {
        body: { username, password: form.password || null, role: form.role === 'admin' ? 'admin' : 'member' },
      }),
    {
      silent: true,
      done: `Added ${username}.`,
      after: (user) => {
        if (user.password) onPassword({ username: user.username, password: user.password })
        setForm({ ...EMPTY, role: form.role })
        setTried(false)
      },
    },
  )
  const submit = () => {
    setTried(true)
    if (username !== '') add.mutate(undefined)
  }
  return { form, set: (change: Partial<typeof EMPTY>) => setForm({ ...form, ...change }), tried, submit, add }
}
