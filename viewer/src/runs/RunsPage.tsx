import { useNavigate, useSearch } from '@tanstack/react-router'
import { useCallback, useState } from 'react'
import { count, plural } from '../format'
import { Failure } from '../parts/Failure'
import { Page } from '../parts/Page'
import { ActiveFilters } from './ActiveFilters'
import { Arrivals } from './Arrivals'
import { EmptyRuns } from './EmptyRuns'
import { NoMatch } from './NoMatch'
import { RunList } from './RunList'
import styles from './RunsPage.module.css'
import { SelectionBar } from './SelectionBar'
import { activeFilters, type RunsSearch, unfiltered } from './search'
import { Toolbar } from './Toolbar'
import { useRunChanges } from './useRunChanges'
import { useRunPages } from './useRunPages'
import { useSelection } from './useSelection'

/** The rows in view before the list has told which ones they are. */
const FIRST_VIEW = { first: 0, last: 49 }
/** Rows by which the view moves: the page is not drawn again for every row. */
const STRIDE = 50

/** Every run of every kind: sorted, filtered, searched, live; the home of the app. */
export function RunsPage() {
  const search = useSearch({ from: '/' })
  const navigate = useNavigate({ from: '/' })
  const [view, setView] = useState(FIRST_VIEW)
  const pages = useRunPages(search, view.first, view.last)
  const { arrived, forget } = useRunChanges(search, pages.readAt)
  const selection = useSelection()
  const look = useCallback((first: number, last: number) => setView((before) => near(before, first, last)), [])
  const change = useCallback(
    (next: RunsSearch, replace = false) => void navigate({ search: next, replace, resetScroll: false }),
    [navigate],
  )
  const { refresh } = pages
  const renew = useCallback(() => {
    forget()
    refresh()
  }, [forget, refresh])

  const filtered = activeFilters(search).length > 0
  const empty = pages.total === 0 && !pages.stale
  if (empty && !filtered) return <EmptyRuns waiting={arrived.length > 0} onArrival={renew} />
  return (
    <Page title="Runs" aside={<Total total={pages.total} exact={pages.totalExact} filtered={filtered} />}>
      <div className={styles.controls}>
        <Toolbar search={search} onChange={change} />
        <ActiveFilters search={search} onChange={change} />
      </div>
      <Arrivals amount={arrived.length} sorted={search.sort === undefined} onShow={renew} />
      {pages.error && <Failure error={pages.error} title="The runs could not be loaded" onRetry={refresh} />}
      {empty ? (
        <NoMatch onClear={() => change(unfiltered(search))} />
      ) : (
        <RunList search={search} onChange={change} pages={pages} selection={selection} onView={look} />
      )}
      <SelectionBar selection={selection} onDeleted={refresh} />
    </Page>
  )
}

function near(before: typeof FIRST_VIEW, first: number, last: number): typeof FIRST_VIEW {
  const view = { first: first - (first % STRIDE), last: last - (last % STRIDE) + STRIDE - 1 }
  return view.first === before.first && view.last === before.last ? before : view
}

function Total({ total, exact, filtered }: { total: number | undefined; exact: boolean; filtered: boolean }) {
  if (total === undefined) return null
  const words = filtered ? `${plural(total, 'run')} found` : plural(total, 'run')
  return (
    <span
      className="muted number"
      aria-live="polite"
      title={exact ? undefined : 'The exact number would take too long to count'}
    >
      {exact ? words : `more than ${count(total)} runs`}
    </span>
  )
}
