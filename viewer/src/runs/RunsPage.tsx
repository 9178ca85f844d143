import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useCallback, useEffect, useMemo, useState } from 'react'
import { documentQuery } from '../api/query'
import { count, plural } from '../format'
import { Failure } from '../parts/Failure'
import { Page } from '../parts/Page'
import { ActiveFilters } from './ActiveFilters'
import { Arrivals } from './Arrivals'
import { EmptyRuns } from './EmptyRuns'
import { asked, isGrouped, WHOLE } from './grouping'
import { NoMatch } from './NoMatch'
import { RunList } from './RunList'
import { RunMatrix } from './RunMatrix'
import styles from './RunsPage.module.css'
import { SavedViews } from './SavedViews'
import { SelectionBar } from './SelectionBar'
import { activeFilters, BUILTIN, type RunsSearch, unfiltered } from './search'
import { Toolbar } from './Toolbar'
import { useRunChanges } from './useRunChanges'
import { type RunPages, useRunPages } from './useRunPages'
import { useSelection } from './useSelection'

/** The rows in view before the list has told which ones they are. */
const FIRST_VIEW = { first: 0, last: 49 }
/** Rows by which the view moves: the page is not drawn again for every row. */
const STRIDE = 50

/** Every run of every kind: sorted, filtered, searched, live; the home of the app. */
export function RunsPage() {
  const written = useSearch({ from: '/' })
  const { search, mixed, known } = useShown(written)
  const navigate = useNavigate({ from: '/' })
  const [view, setView] = useState(FIRST_VIEW)
  const [long, setLong] = useState<number>()
  const wanted = useMemo(() => asked(search, long), [search, long])
  const pages = useRunPages(wanted, view.first, view.last)
  const { arrived, forget } = useRunChanges(wanted, pages.readAt)
  const selection = useSelection()
  const look = useCallback((first: number, last: number) => setView((before) => near(before, first, last)), [])
  const change = useCallback(
    (next: RunsSearch, replace = false) => void navigate({ search: next, replace, resetScroll: false }),
    [navigate],
  )
  const { refresh, total } = pages
  const renew = useCallback(() => {
    forget()
    refresh()
  }, [forget, refresh])
  useEffect(() => setLong(total), [total])

  const filtered = activeFilters(written).length > 0
  const empty = known && total === 0 && !pages.stale
  if (empty && !filtered && search.builtin !== 'hidden') {
    return <EmptyRuns waiting={arrived.length > 0} onArrival={renew} />
  }
  const matrix = written.view === 'matrix'
  return (
    <Page title="Runs" aside={<Total total={total} exact={pages.totalExact} filtered={filtered} />}>
      <div className={styles.controls}>
        <SavedViews search={written} />
        <Toolbar search={written} onChange={change} runs={pages.runs} grouped={isGrouped(search, total)}>
          <ActiveFilters search={written} onChange={change} builtin={mixed ? search.builtin : undefined} />
        </Toolbar>
      </div>
      <Arrivals amount={arrived.length} sorted={written.sort === undefined} onShow={renew} />
      {pages.error && <Failure error={pages.error} title="The runs could not be loaded" onRetry={refresh} />}
      {empty ? (
        <NoMatch onClear={() => change(unfiltered(written))} />
      ) : matrix ? (
        <Whole pages={pages} onView={look}>
          <RunMatrix search={written} runs={pages.runs} />
        </Whole>
      ) : (
        <RunList
          search={written}
          onChange={change}
          pages={pages}
          selection={selection}
          grouped={isGrouped(search, total)}
          onView={look}
        />
      )}
      <SelectionBar selection={selection} onDeleted={refresh} />
    </Page>
  )
}

/**
 * What the page shows: built-in agents are left out where there are others, unless a person wants to see them. Until it
 * is known whether there are others they are left out too: rows must not go away again.
 */
function useShown(written: RunsSearch): { search: RunsSearch; mixed: boolean; known: boolean } {
  const { data, isPending } = useQuery(documentQuery('/api/runs/facets'))
  return useMemo(() => {
    // What one command started is asked for as a whole.
    if (written.group !== undefined || written.model?.some((model) => BUILTIN.test(model))) {
      return { search: written, mixed: false, known: true }
    }
    const hidden = { ...written, builtin: written.builtin ?? ('hidden' as const) }
    if (isPending) return { search: hidden, mixed: false, known: false }
    const models = data?.model ?? []
    const mixed = models.some(({ value }) => BUILTIN.test(value)) && models.some(({ value }) => !BUILTIN.test(value))
    return { search: mixed ? hidden : written, mixed, known: true }
  }, [written, data, isPending])
}

/** Reads the first runs of a search as a whole, for what shows them all at once. */
function Whole({
  pages,
  onView,
  children,
}: {
  pages: RunPages
  onView: (first: number, last: number) => void
  children: React.ReactNode
}) {
  const { total } = pages
  useEffect(() => onView(0, Math.min(total ?? 0, WHOLE) - 1), [onView, total])
  return (
    <>
      {total !== undefined && total > WHOLE && (
        <p className="muted">These are the first {count(WHOLE)} runs of the list; filters make it shorter.</p>
      )}
      {children}
    </>
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
      data-tip={exact ? undefined : 'The exact number would take too long to count'}
    >
      {exact ? words : `more than ${count(total)} runs`}
    </span>
  )
}
