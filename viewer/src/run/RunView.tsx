/** A run on its page. */

import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { lazy, Suspense, useCallback, useState } from 'react'
import type { Schema } from '../api/types'
import { Badge } from '../parts/Badge'
import { Page } from '../parts/Page'
import { Skeleton } from '../parts/Skeleton'
import { Status } from '../parts/Status'
import { Tabs } from '../parts/Tabs'
import { place } from '../place'
import { runName } from '../runs/runName'
import { SYNTAX } from '../said/place'
import { SaidHead, SaidList } from '../said/SaidList'
import { useSaid } from '../said/useSaid'
import { Charts } from './Charts'
import { Configuration } from './Configuration'
import { EpisodeFilters } from './EpisodeFilters'
import { EpisodeTable } from './EpisodeTable'
import { GroupPanel } from './GroupPanel'
import { GroupChips, SaveGroup } from './Groups'
import { isGoing } from './headline'
import { Notices } from './Notices'
import { RunActions } from './RunActions'
import { RunFigures } from './RunFigures'
import { RunNote } from './RunNote'
import { RunSearchField } from './RunSearch'
import { RunTitle } from './RunTitle'
import styles from './RunView.module.css'
import { ResultsView } from './results/ResultsView'
import { resultsQuery } from './results/resultsQuery'
import { filterOfCause, hasOutput, isRollout, shownTab } from './results/rollout'
import { ScorePanel } from './ScorePanel'
import { compact, episodeFilter, type RunSearch, readRunSearch, type Tab, toggled } from './search'
import { TroublePanel } from './TroublePanel'
import { WrongPanel } from './wrong/WrongPanel'

const ServerActions = lazy(async () => ({ default: (await import('./ServerActions')).ServerActions }))
const AddRows = lazy(async () => ({ default: (await import('../datasets/AddRows')).AddRows }))
const OutputPanel = lazy(async () => ({ default: (await import('./OutputPanel')).OutputPanel }))
const SinceLast = lazy(async () => ({ default: (await import('../configuration/SinceLast')).SinceLast }))
const ServerNote = lazy(async () => ({ default: (await import('./ServerNote')).ServerNote }))

const TABS: { id: Tab; label: string }[] = [
  { id: 'episodes', label: 'Episodes' },
  { id: 'charts', label: 'Charts and metrics' },
  { id: 'configuration', label: 'Configuration' },
]

const ROLLOUT_TABS: { id: Tab; label: string }[] = [
  { id: 'results', label: 'Results' },
  { id: 'samples', label: 'Samples' },
  ...TABS.slice(1),
]

function tabsOf(run: Schema<'RunDetail'>): typeof TABS {
  const tabs = isRollout(run) ? ROLLOUT_TABS : TABS
  return hasOutput(run) ? [...tabs, { id: 'output', label: 'Output' }] : tabs
}

export function RunView({ run, onStarted }: { run: Schema<'RunDetail'>; onStarted: () => void }) {
  const search = useSearch({ from: '/runs/$runId' })
  const navigate = useNavigate({ from: '/runs/$runId' })
  const change = useCallback(
    (next: RunSearch, replace = false) => void navigate({ search: next, replace, resetScroll: false }),
    [navigate],
  )
  const rollout = isRollout(run)
  const tab = shownTab(run, search)
  /** Show episodes: in the tab that a page of this kind shows without being asked, or in the one that it names. */
  const list = (next: RunSearch) => change({ ...next, tab: rollout ? 'samples' : undefined })
  const chooseCause = (cause: string) => {
    const { outcome } = filterOfCause(run, cause)
    if (outcome === undefined) return list(toggled(search, 'cause', cause))
    list(compact({ ...search, cause: undefined, outcome: search.outcome === outcome ? undefined : outcome }))
  }
  return (
    <Page
      title={runName(run)}
      heading={<RunTitle run={run} />}
      trail={<Link to="/">Runs</Link>}
      aside={
        <>
          {run.state === 'finished' ? (
            <span className="hidden-text">finished</span>
          ) : (
            <Status state={run.state} stopping={run.stop_requested} />
          )}
          {run.tags.map((tag) => (
            <Badge key={tag}>
              <bdi>{tag}</bdi>
            </Badge>
          ))}
        </>
      }
      actions={<Actions run={run} onStarted={onStarted} />}
      note={<RunNote run={run} />}
    >
      {place.mode === 'server' && (
        <Suspense fallback={null}>
          <ServerNote run={run} />
          {run.request?.evaluation != null && !isGoing(run) && <SinceLast run={run} />}
        </Suspense>
      )}
      <Notices run={run} />
      <RunFigures run={run} />
      <div className={styles.summary}>
        <div className={styles.scored}>
          <ScorePanel run={run} />
          <TroublePanel run={run} chosen={search.cause ?? []} onChoose={chooseCause} />
        </div>
        <WrongPanel run={run} search={search} onSearch={list} />
        <ByLabel run={run} search={search} onSearch={list} />
      </div>
      <Tabs
        label="Sections of the run"
        tabs={tabsOf(run)}
        selected={tab}
        onSelect={(tab) => change(readRunSearch({ ...search, tab }))}
      >
        <Content run={run} search={rollout ? { ...search, tab } : search} onSearch={change} />
      </Tabs>
    </Page>
  )
}

/** The score by what the episodes can be grouped by, else how it is spread. */
function ByLabel({ run, search, onSearch }: ContentProps) {
  const { data } = useQuery(resultsQuery(run.id))
  if (data === undefined) return <Skeleton height="14rem" />
  return <GroupPanel run={run} labels={data.labels} search={search} onSearch={onSearch} />
}

/** On a server only those whose run it is can do something, and in its words. */
function Actions({ run, onStarted }: { run: Schema<'RunDetail'>; onStarted: () => void }) {
  if (place.mode !== 'server') return <RunActions run={run} onStarted={onStarted} />
  return (
    <Suspense fallback={null}>
      <ServerActions run={run} onStarted={onStarted} />
    </Suspense>
  )
}

interface ContentProps {
  run: Schema<'RunDetail'>
  search: RunSearch
  onSearch: (search: RunSearch, replace?: boolean) => void
}

function Content({ run, search, onSearch }: ContentProps) {
  if (search.tab === 'results' && isRollout(run)) return <ResultsView run={run} search={search} onSearch={onSearch} />
  if (search.tab === 'charts') return <Charts run={run} />
  if (search.tab === 'configuration') return <Configuration run={run} />
  if (search.tab === 'output') {
    return (
      <Suspense fallback={<Skeleton height="12rem" />}>
        <OutputPanel run={run} />
      </Suspense>
    )
  }
  return <Episodes run={run} search={search} onSearch={onSearch} />
}

function Episodes({ run, search, onSearch }: ContentProps) {
  const [total, setTotal] = useState<{ count: number | null; exact: boolean }>({ count: null, exact: false })
  const tell = useCallback((count: number | null, exact: boolean) => setTotal({ count, exact }), [])
  const { said: text = '' } = search
  const said = useSaid(text, { runId: run.id })
  const say = (next: string) => onSearch(compact({ ...search, said: next }), true)
  const searching = text !== ''
  return (
    <div className={styles.episodes}>
      <div className={styles.tools}>
        <RunSearchField run={run} search={search} onSearch={onSearch} />
        {searching ? (
          <>
            <SaidHead said={said} text={text} onText={say} whole="run" />
            <SaveGroup runId={run.id} text={text} />
          </>
        ) : (
          <EpisodeFilters run={run} search={search} onSearch={onSearch} total={total}>
            {place.mode === 'server' && (
              <Suspense fallback={null}>
                <AddRows run={run} where={episodeFilter(search)} count={total.count} />
              </Suspense>
            )}
          </EpisodeFilters>
        )}
      </div>
      <GroupChips run={run} text={text} onText={say} />
      {searching ? (
        <section aria-label="What was said" className={styles.episodes}>
          <SaidList said={said} text={text} />
          <p className={styles.help}>
            <code>{SYNTAX}</code>
            <Link to="/search" search={{ q: text }}>
              Search every run
            </Link>
          </p>
        </section>
      ) : (
        <EpisodeTable run={run} search={search} onSearch={onSearch} onTotal={tell} />
      )}
    </div>
  )
}
