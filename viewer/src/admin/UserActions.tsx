import { useState } from 'react'
import type { Doc } from '../api/platform'
import { ConfirmDialog } from '../parts/ConfirmDialog'
import { Menu, type MenuItem } from '../parts/Menu'
import { useMe } from '../session/useMe'
import type { Made } from './UsersView'
import { useUserChanges } from './useUserChanges'

/** What can be done with an account. */
export function UserActions({ user, onPassword }: { user: Doc<'UserRow'>; onPassword: (made: Made) => void }) {
  const [asked, setAsked] = useState<'disable' | 'reset'>()
  const me = useMe()
  const close = () => setAsked(undefined)
  const { disable, enable, role, reset } = useUserChanges(user, close, onPassword)
  const others: MenuItem[] = [
    {
      label: user.role === 'admin' ? 'Make a member' : 'Make an administrator',
      disabled: role.isPending,
      onChoose: () => role.mutate(undefined),
    },
    user.disabled
      ? { label: 'Let in again', disabled: enable.isPending, onChoose: () => enable.mutate(undefined) }
      : { label: 'Keep out…', danger: true, onChoose: () => setAsked('disable') },
  ]
  const items: MenuItem[] = [
    { label: 'New password…', onChoose: () => setAsked('reset') },
    ...(me?.user_id === user.id ? [] : others),
  ]
  return (
    <>
      <Menu label={`Change ${user.username}`} icon="menu" small items={items} />
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
