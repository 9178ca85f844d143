import { useState } from 'react'
import type { Schema } from '../api/types'
import { ConfirmDialog } from '../parts/ConfirmDialog'
import { Menu, type MenuItem } from '../parts/Menu'
import { useMe } from '../session/useMe'
import type { Made } from './UsersView'
import { useUserChanges } from './useUserChanges'

/** What can be done with an account. */
export function UserActions({ user, onPassword }: { user: Schema<'UserRow'>; onPassword: (made: Made) => void }) {
  const [asked, setAsked] = useState<'disable' | 'reset'>()
  const me = useMe()
  const close = () => setAsked(undefined)
  const { disable, enable, role, reset } = useUserChanges(user, close, onPassword)
  const others: MenuItem[] = [
    {
      label: user.role === 'admin' ? 'Make member' : 'Make administrator',
      disabled: role.isPending,
      onChoose: () => role.mutate(undefined),
    },
    user.disabled
      ? { label: 'Enable account', disabled: enable.isPending, onChoose: () => enable.mutate(undefined) }
      : { label: 'Disable account…', danger: true, onChoose: () => setAsked('disable') },
  ]
  const items: MenuItem[] = [
    { label: 'Reset password…', onChoose: () => setAsked('reset') },
    ...(me?.user_id === user.id ? [] : others),
  ]
  return (
    <>
      <Menu label={`Change ${user.username}`} icon="menu" small items={items} />
      <ConfirmDialog
        open={asked !== undefined}
        title={
          asked === 'reset' ? `Reset the password of ${user.username}?` : `Disable the account of ${user.username}?`
        }
        confirm={asked === 'reset' ? 'Reset password' : 'Disable account'}
        danger={asked === 'disable'}
        busy={disable.isPending || reset.isPending}
        onConfirm={() => (asked === 'reset' ? reset : disable).mutate(undefined)}
        onClose={close}
      >
        <p>
          {asked === 'reset'
            ? 'A new password is generated and shown once. The old password and all sessions stop working immediately.'
            : 'All sessions and tokens of this user are revoked. Runs and environments are kept.'}
        </p>
      </ConfirmDialog>
    </>
  )
}
