import { Link, Outlet } from '@tanstack/react-router'
import { useRef } from 'react'
import { ShortcutList } from '../keys/ShortcutList'
import { useShortcut } from '../keys/useShortcut'
import { ConnectionState } from '../parts/ConnectionState'
import { Logo } from '../parts/Logo'
import { ThemeSwitch } from '../parts/ThemeSwitch'
import { useMe } from '../session/useMe'
import { AccountMenu } from './AccountMenu'
import { LinkButton } from './LinkButton'
import { PageShortcut } from './PageShortcut'
import { PagesMenu } from './PagesMenu'
import styles from './PlatformLayout.module.css'
import { placesFor } from './places'
import { useFolded } from './useFolded'

/** What is around every page of a platform: the bar with the pages and the account, the main landmark. */
export function PlatformLayout() {
  const main = useRef<HTMLElement>(null)
  const bar = useRef<HTMLElement>(null)
  const folded = useFolded(bar)
  const me = useMe()
  const places = placesFor(me)
  useShortcut('/', 'Search', focusSearch, { group: 'Everywhere' })
  return (
    <>
      <button type="button" className={styles.skip} onClick={() => main.current?.focus()}>
        Skip to the content
      </button>
      <header ref={bar} className={styles.bar}>
        {folded && (
          <div data-instead>
            <PagesMenu places={places} />
          </div>
        )}
        <Link to="/" className={styles.brand} aria-label="mesocosm, start page">
          <Logo />
          <span className={styles.name}>mesocosm</span>
        </Link>
        <nav aria-label="Pages" className={styles.nav} data-folded={folded || undefined}>
          {places.map(({ to, label }) => (
            <Link key={to} to={to} activeOptions={{ exact: to === '/', includeSearch: false }}>
              {label}
            </Link>
          ))}
        </nav>
        <div className={styles.end}>
          <ConnectionState />
          {me !== undefined && me.type !== 'anonymous' && (
            <LinkButton to="/new-run" look="primary" icon="plus">
              New run
            </LinkButton>
          )}
          <ThemeSwitch />
          <AccountMenu me={me} />
        </div>
      </header>
      {places.map((place) => (
        <PageShortcut key={place.to} place={place} />
      ))}
      <main ref={main} tabIndex={-1} className={styles.main}>
        <Outlet />
      </main>
      <ShortcutList />
    </>
  )
}

/** The page's search field is the one that is marked so; see SearchField. */
function focusSearch(): void {
  const field = document.querySelector<HTMLInputElement>('input[data-page-search]')
  field?.focus()
  field?.select()
}
