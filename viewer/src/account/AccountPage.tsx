import { Badge } from '../parts/Badge'
import { LinkButton } from '../parts/LinkButton'
import { Page } from '../parts/Page'
import { PageSkeleton } from '../parts/PageSkeleton'
import { Panel } from '../parts/Panel'
import styles from '../parts/panels.module.css'
import { nameOf } from '../session/person'
import { useMe } from '../session/useMe'
import { CreateToken } from './CreateToken'
import { PasswordPanel } from './PasswordPanel'
import { SignInTable } from './SignInTable'
import { TokenTable } from './TokenTable'

/** One's own account: tokens for programs, the password, where one is signed in. */
export function AccountPage() {
  const me = useMe()
  if (me === undefined) return <PageSkeleton />
  if (me.type !== 'member') {
    return (
      <Page title="Account" note="Sign in to see your account.">
        <p>
          <LinkButton to="/sign-in" search={{ next: '/account' }} look="primary">
            Sign in
          </LinkButton>
        </p>
      </Page>
    )
  }
  return (
    <Page
      title={nameOf(me)}
      heading={<bdi>{nameOf(me)}</bdi>}
      aside={<Badge>{me.role === 'admin' ? 'administrator' : 'member'}</Badge>}
      note={<>Your user ID is {me.user_id}.</>}
    >
      <div className={styles.columns}>
        <div className={styles.stack}>
          <Panel title="Personal tokens" note="for scripts and CI" flush>
            <TokenTable />
          </Panel>
          {me.way !== 'open' && (
            <Panel title="Sessions" flush>
              <SignInTable />
            </Panel>
          )}
        </div>
        <div className={styles.stack}>
          <Panel title="Create a token">
            <CreateToken />
          </Panel>
          {me.way !== 'open' && (
            <Panel title="Password">
              <PasswordPanel />
            </Panel>
          )}
        </div>
      </div>
    </Page>
  )
}
