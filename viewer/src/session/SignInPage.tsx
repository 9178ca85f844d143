import { Link, useSearch } from '@tanstack/react-router'
import { useEffect } from 'react'
import { useDocument } from '../api/query'
import { Logo } from '../parts/Logo'
import { GuestButton } from './GuestButton'
import { nextPage } from './next'
import { OtherWay } from './OtherWay'
import { PasswordForm } from './PasswordForm'
import { isMember, nameOf } from './person'
import styles from './SessionPage.module.css'
import { SignUpForm } from './SignUpForm'
import { useMe } from './useMe'

/** Where people say who they are; afterwards they are back where they came from. */
export function SignInPage() {
  const { next, as, problem } = useSearch({ from: '/sign-in' })
  const { data: ways } = useDocument('/api/auth/ways')
  const me = useMe()
  const page = nextPage(next)
  const fresh = as === 'new'
  useEffect(() => {
    document.title = 'Sign in · mesocosm'
  }, [])
  return (
    <div className={styles.page}>
      <header className={styles.head}>
        <Logo size={40} />
        <h1>{fresh ? 'Create an account' : 'Sign in'}</h1>
        {isMember(me) && me && <p className="muted">You are signed in as {nameOf(me)}.</p>}
      </header>
      <section className={styles.card} aria-label={fresh ? 'Create an account' : 'Sign in'}>
        {problem && <p role="alert">{problem}</p>}
        {fresh ? <SignUpForm next={page} /> : <PasswordForm next={page} />}
        {!fresh && ways?.oidc && <OtherWay name={ways.oidc} next={page} />}
        {!fresh && ways?.guests && me?.type === 'anonymous' && <GuestButton next={page} />}
      </section>
      <p className={styles.note}>
        {fresh ? (
          <Link to="/sign-in" search={{ next }}>
            I already have an account
          </Link>
        ) : ways?.sign_up ? (
          <Link to="/sign-in" search={{ next, as: 'new' }}>
            Create an account
          </Link>
        ) : (
          'No account? Ask an administrator of this server. Public runs and leaderboards need no account.'
        )}
      </p>
    </div>
  )
}
