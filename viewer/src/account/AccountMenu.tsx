import { useNavigate, useRouterState } from '@tanstack/react-router'
import { LinkButton } from '../parts/LinkButton'
import { Menu, type MenuItem } from '../parts/Menu'
import { useToast } from '../parts/toast'
import { type Me, nameOf } from '../session/person'
import { signOut } from '../session/signOut'

/** Who one is, and what one can do about it. */
export function AccountMenu({ me }: { me: Me | undefined }) {
  const navigate = useNavigate()
  const toast = useToast()
  const here = useRouterState({ select: ({ location }) => location.pathname + location.searchStr })
  if (me === undefined) return null
  if (me.type === 'anonymous') {
    return (
      <LinkButton to="/sign-in" search={here.startsWith('/sign-in') ? {} : { next: here }} look="primary">
        Sign in
      </LinkButton>
    )
  }
  const leave = () => void signOut(me).catch((error: Error) => toast({ text: error.message, tone: 'bad' }))
  const items: MenuItem[] = [
    ...(me.type === 'member'
      ? [
          {
            label: 'Account and tokens',
            note: me.role === 'admin' ? 'Administrator' : 'Member',
            onChoose: () => void navigate({ to: '/account' }),
          },
          { label: 'Workspaces', onChoose: () => void navigate({ to: '/workspaces' }) },
          { label: 'Teams', onChoose: () => void navigate({ to: '/teams' }) },
        ]
      : [{ label: 'Sign in as a member', onChoose: () => void navigate({ to: '/sign-in', search: { next: here } }) }]),
    { label: me.type === 'member' ? 'Sign out' : 'End guest session', danger: me.type === 'guest', onChoose: leave },
  ]
  return <Menu label={nameOf(me)} items={items} look="quiet" />
}
