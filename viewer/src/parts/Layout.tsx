import { Link, Outlet } from '@tanstack/react-router'
import { useRef } from 'react'
import { AccountMenu } from '../account/AccountMenu'
import { ShortcutList } from '../keys/ShortcutList'
import { useShortcut } from '../keys/useShortcut'
import { PaletteButton } from '../palette/PaletteButton'
import { place } from '../place'
import { useMe } from '../session/useMe'
import { furtherPages, pagesFor } from './barPages'
import { ConnectionState } from './ConnectionState'
import styles from './Layout.module.css'
import { LinkButton } from './LinkButton'
import { Logo } from './Logo'
import { PageShortcut } from './PageShortcut'
import { PagesMenu } from './PagesMenu'
import { ThemeSwitch } from './ThemeSwitch'
import { Tips } from './Tips'
import { useFolded } from './useFolded'

/** The frame of every page: the bar with the pages and the account, the main landmark. */
export function Layout() {
  const main = useRef<HTMLElement>(null)
  const bar = useRef<HTMLElement>(null)
  const folded = useFolded(bar)
  const me = useMe()
  const pages = pagesFor(place.mode, me)
  const all = [...pages, ...furtherPages(place.mode, me)]
  useShortcut('/', 'Search on this page', focusSearch, { group: 'Everywhere' })
  return (
    <>
      <button type="button" className={styles.skip} onClick={() => main.current?.focus()}>
        Skip to the content
      </button>
      <header ref={bar} className={styles.bar}>
        {folded && (
          <div data-instead>
            <PagesMenu pages={all} />
          </div>
        )}
        <Link to="/" className={styles.brand} aria-label="mesocosm, start page">
          <Logo />
          <span className={styles.name}>mesocosm</span>
        </Link>
        <nav aria-label="Pages" className={styles.nav} data-folded={folded || undefined}>
          {pages.map(({ to, label }) => (
            <Link key={to} to={to} activeOptions={{ exact: to === '/', includeSearch: false }}>
              {label}
            </Link>
          ))}
        </nav>
        <div className={styles.end}>
          <ConnectionState />
          <PaletteButton />
          {me !== undefined && me.type !== 'anonymous' && (
            <LinkButton to="/new-run" look="primary" icon="plus">
              New run
            </LinkButton>
          )}
          <ThemeSwitch />
          <AccountMenu me={me} />
        </div>
      </header>
      {all.map((page) => (
        <PageShortcut key={page.to} page={page} />
      ))}
      <main ref={main} tabIndex={-1} className={styles.main}>
        <Outlet />
      </main>
      <ShortcutList />
      <Tips />
    </>
  )
}

/** Focus the search field of the page; see SearchField. */
function focusSearch(): void {
  const field = document.querySelector<HTMLInputElement>('input[data-page-search]')
  field?.focus()
  field?.select()
}
