import { Link, Outlet, useNavigate } from '@tanstack/react-router'
import { useRef } from 'react'
import { ShortcutList } from '../keys/ShortcutList'
import { useShortcut } from '../keys/useShortcut'
import { ConnectionState } from './ConnectionState'
import styles from './Layout.module.css'
import { Logo } from './Logo'
import { ThemeSwitch } from './ThemeSwitch'

const EVERYWHERE = { group: 'Everywhere' }

/** What is around every page: the bar at the top, the main landmark. */
export function Layout() {
  const main = useRef<HTMLElement>(null)
  const navigate = useNavigate()
  useShortcut('/', 'Search', focusSearch, EVERYWHERE)
  useShortcut('g r', 'Go to Runs', () => navigate({ to: '/' }), EVERYWHERE)
  useShortcut('g c', 'Go to Compare', () => navigate({ to: '/compare' }), EVERYWHERE)
  useShortcut('g b', 'Go to Benchmarks', () => navigate({ to: '/benchmarks' }), EVERYWHERE)
  return (
    <>
      <button type="button" className={styles.skip} onClick={() => main.current?.focus()}>
        Skip to the content
      </button>
      <header className={styles.bar}>
        <Link to="/" className={styles.brand} aria-label="mesocosm, all runs">
          <Logo />
          <span className={styles.name}>mesocosm</span>
        </Link>
        <nav aria-label="Pages" className={styles.nav}>
          <Link to="/" activeOptions={{ exact: true, includeSearch: false }}>
            Runs
          </Link>
          <Link to="/compare" activeOptions={{ includeSearch: false }}>
            Compare
          </Link>
          <Link to="/benchmarks" activeOptions={{ includeSearch: false }}>
            Benchmarks
          </Link>
        </nav>
        <div className={styles.end}>
          <ConnectionState />
          <ThemeSwitch />
        </div>
      </header>
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
