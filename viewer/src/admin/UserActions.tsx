import { useState } from 'react'
import type { Doc } from '../api/platform'
import { Button } from '../parts/Button'
import { ConfirmDialog } from '../parts/ConfirmDialog'
import { useMe } from '../session/useMe'
import type { Made } from './UsersView'
import { useUserChanges } from './useUserChanges'

/** What can be done with an account. */
export function UserActions({ user, onPassword }: { user: Doc<'UserRow'>; onPassword: (made: Made) => void }) {
  const [asked, setAsked] = useState<'disable' | 'reset'>()
  const me = useMe()
  const close = () => setAsked(undefined)
  const { disable, enable, role, reset } = useUserChanges(user, close, onPassword)
  const own = me?.user_id === user.id
  const change = user.role === 'admin' ? 'Make a member' : 'Make an administrator'
  return (
    <>
      <Button look="quiet" aria-label={`New password for ${user.username}`} onClick={() => setAsked('reset')}>
        New password
      </Button>
      {!own && (
        <>
          <Button
            look="quiet"
            aria-label={`${change}: ${user.username}`}
            busy={role.isPending}
            onClick={() => role.mutate(undefined)}
          >
            {change}
          </Button>
          <Button
            look="quiet"
            aria-label={`${user.disabled ? 'Let in again' : 'Keep out'}: ${user.username}`}
            busy={enable.isPending}
            onClick={() => (user.disabled ? enable.mutate(undefined) : setAsked('disable'))}
          >
            {user.disabled ? 'Let in again' : 'Keep out'}
          </Button>
        </>
      )}
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
