/** Changing an account. */

import { post } from '../api/client'
import type { Schema } from '../api/types'
import { useChange } from '../parts/useChange'
import type { Made } from './UsersView'

/** The changes; `close` is called when what a dialog asked for is done, a new password is handed on. */
export function useUserChanges(user: Schema<'UserRow'>, close: () => void, onPassword: (made: Made) => void) {
  const params = { user_id: user.id }
  const other = user.role === 'admin' ? 'member' : 'admin'
  const disable = useChange(() => post('/api/admin/users/{user_id}/disable', { params }), {
    done: `Disabled the account of ${user.username}.`,
    after: close,
  })
  const enable = useChange(() => post('/api/admin/users/{user_id}/enable', { params }), {
    done: `Enabled the account of ${user.username}.`,
  })
  const role = useChange(() => post('/api/admin/users/{user_id}/role', { params, body: { role: other } }), {
    done: 'Role changed.',
  })
  const reset = useChange(() => post('/api/admin/users/{user_id}/reset', { params }), {
    after: (made) => {
      close()
      if (made.password) onPassword({ username: made.username, password: made.password })
    },
  })
  return { disable, enable, role, reset }
}
