import { useState } from 'react'
import { ask, type Doc } from '../api/platform'
import { ConfirmDialog } from '../parts/ConfirmDialog'
import { Menu } from '../parts/Menu'
import { useChange } from '../platform/useChange'
import { useMe } from '../session/me'
import type { Made } from './UsersView'

/** What can be done with an account. */
export function UserActions({ user, onPassword }: { user: Doc<'UserRow'>; onPassword: (made: Made) => void }) {
  const [asked, setAsked] = useState<'disable' | 'reset'>()
  const me = useMe()
  const params = { user_id: user.id }
  const close = () => setAsked(undefined)
  const disable = useChange(() => ask('post', '/v1/admin/users/{user_id}/disable', { params }), {
    done: `${user.username} is kept out.`,
    after: close,
  })
  const enable = useChange(() => ask('post', '/v1/admin/users/{user_id}/enable', { params }), {
    done: `${user.username} may come in again.`,
  })
  const role = useChange(
    () =>
      ask('post', '/v1/admin/users/{user_id}/role', {
        params,
        body: { role: user.role === 'admin' ? 'member' : 'admin' },
      }),
    { done: 'The role is changed.' },
  )
  const reset = useChange(() => ask('post', '/v1/admin/users/{user_id}/reset', { params }), {
    after: (made) => {
      close()
      if (made.password) onPassword({ username: made.username, password: made.password })
    },
  })
  const own = me?.user_id === user.id
  return (
    <>
      <Menu
        label={`What to do with ${user.username}`}
        icon="menu"
        small
        items={[
          { label: 'New password…', onChoose: () => setAsked('reset') },
          {
            label: user.role === 'admin' ? 'Make a plain member' : 'Make an administrator',
            disabled: own,
            onChoose: () => role.mutate(undefined),
          },
          user.disabled
            ? { label: 'Let in again', onChoose: () => enable.mutate(undefined) }
            : { label: 'Keep out…', danger: true, disabled: own, onChoose: () => setAsked('disable') },
        ]}
      />
      <ConfirmDialog
        open={asked !== undefined}
        title={asked === 'reset' ? `A new password for ${user.username}?` : `Keep ${user.username} out?`}
        confirm={asked === 'reset' ? 'Make a new password' : 'Keep out'}
        danger={asked === 'disable'}
        busy={disable.isPending || reset.isPending}
        onConfirm={() => (asked === 'reset' ? reset : disable).mutate(undefined)}
        onClose={close}
      >
        <p>
          {asked === 'reset'
            ? 'It is made up and shown once; the old one and every sign-in with it end at once.'
            : 'Their sign-ins and tokens end at once. Their runs and environments stay.'}
        </p>
      </ConfirmDialog>
    </>
  )
}
