/** The episodes of a run, however many: rows are drawn and read only where one looks. */

import { useNavigate } from '@tanstack/react-router'
import { type RefObject, useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { source } from '../api/source'
import type { Schema } from '../api/types'
import { Failure } from '../parts/Failure'
import { useToast } from '../parts/toast'
import { useNarrow } from '../parts/useNarrow'
import { type RowKey, VirtualTable } from '../parts/VirtualTable'
import { keysOf } from '../search'
import styles from './EpisodeTable.module.css'
import { episodeColumns, narrowEpisodeColumns, type TaskFacts, taskFacts } from './episodeColumns'
import { NoEpisodes } from './NoEpisodes'
import type { Episode, Row } from './plan'
import { isRollout } from './results/rollout'
import { episodeFilter, listSearch, type RunSearch, sorted } from './search'
import { useEpisodes } from './useEpisodes'
import { useRoomBelow } from './useRoomBelow'

interface EpisodeTableProps {
  run: Schema<'RunDetail'>
  search: RunSearch
  onSearch: (search: RunSearch) => void
  /** Told how many episodes the table has; null while that is unknown. */
  onTotal: (total: number | null, exact: boolean) => void
}

/** Rows that stand for a filtered list while its first page is on its way. */
const SKELETONS = 12

export function EpisodeTable({ run, search, onSearch, onTotal }: EpisodeTableProps) {
  const place = useRef<HTMLDivElement>(null)
  const maxHeight = useRoomBelow(place, '20rem')
  const narrow = useNarrow()
  const navigate = useNavigate()
  const [sight, setSight] = useState({ first: 0, last: 40 })
  const look = useCallback((first: number, last: number) => setSight({ first, last }), [])
  const rows = useEpisodes(run.id, run.counts.planned, search, sight.first, sight.last)
  useEffect(() => onTotal(rows.total, rows.totalExact), [onTotal, rows.total, rows.totalExact])

  const filter = useMemo(() => episodeFilter(search), [search])
  useStartOf(place, JSON.stringify(filter))
  const score = run.primary?.name ?? ''
  const trials = selectedTrials(run) > 1
  const samples = isRollout(run)
  const has = useFacts(rows.rowAt, sight.first)
  const columns = useMemo(
    () => (narrow ? narrowEpisodeColumns : episodeColumns)({ score, filter, trials, samples, has }),
    [samples, narrow, score, filter, trials, has],
  )
  const open = (row: Row) => {
    if (row.kind !== 'episode') return
    void navigate({ to: '/episodes/$episodeId', params: { episodeId: row.episode.id }, search: listSearch(filter) })
  }
  const compare = useCompareKey(run, trials)
  return (
    <div
      ref={place}
      className={styles.table}
      data-stale={rows.stale || undefined}
      aria-busy={rows.waiting || rows.stale}
    >
      {rows.error !== null && (
        <Failure
          error={rows.error}
          title={`The ${samples ? 'samples' : 'episodes'} could not be loaded`}
          onRetry={rows.retry}
        />
      )}
      {(rows.error === null || rows.count > 0) && (
        <VirtualTable
          label={samples ? 'Samples' : 'Episodes'}
          columns={columns}
          count={rows.waiting ? Math.max(rows.count, Math.min(SKELETONS, run.counts.planned)) : rows.count}
          getRow={rows.rowAt}
          rowKey={(row) => String(row.index)}
          rowHeight={narrow ? 56 : 34}
          maxHeight={maxHeight}
          sort={search.sort ?? 'index'}
          onSort={(sort) => onSearch(sorted(search, sort))}
          onOpen={open}
          onRange={look}
          empty={<NoEpisodes run={run} search={search} onSearch={onSearch} />}
          shortcuts
          rowKeys={source.live ? [compare] : []}
        />
      )}
    </div>
  )
}

/**
 * The key that compares the episode of a row: with another trial of its task, which is chosen next, or where tasks are
 * played once with those of other runs, which the page of the task lists.
 */
function useCompareKey({ benchmark }: Schema<'RunDetail'>, trials: boolean): RowKey<Row> {
  const navigate = useNavigate()
  const tell = useToast()
  const first = useRef<Episode | null>(null)
  const action = (row: Row) => {
    if (row.kind !== 'episode') return
    const { id, task_digest: taskDigest, task_id: task, trial } = row.episode
    if (!trials) {
      void navigate({
        to: '/benchmarks/$benchmarkId/tasks/$taskDigest',
        params: { benchmarkId: benchmark, taskDigest },
      })
    } else if (first.current?.task_digest === taskDigest && first.current.id !== id) {
      void navigate({ to: '/compare/episodes', search: { a: first.current.id, b: id } })
    } else {
      first.current = row.episode
      tell({ text: `Trial ${trial + 1} of ${task.slice(0, 60)} is chosen: press c at another trial of this task.` })
    }
  }
  return { key: 'c', label: trials ? 'Compare two trials' : 'The task over all models', action }
}

/** Rows that are looked at to find out which columns have content. */
const LOOKED_AT = 30

/** What the tasks have. What once was there stays: columns must not come and go while one scrolls. */
function useFacts(rowAt: (index: number) => Row | undefined, first: number): TaskFacts {
  const [has, setHas] = useState<TaskFacts>(() => taskFacts([]))
  const seen: Episode[] = []
  for (let index = first; index < first + LOOKED_AT; index++) {
    const row = rowAt(index)
    if (row?.kind === 'episode') seen.push(row.episode)
  }
  const now = taskFacts(seen)
  const added = keysOf(now).some((key) => now[key] && !has[key])
  useEffect(() => {
    if (added) setHas((before) => mapped(before, now))
  })
  return has
}

function mapped(before: TaskFacts, now: TaskFacts): TaskFacts {
  const entries = keysOf(before).map((key) => [key, before[key] || now[key]] as const)
  return Object.fromEntries(entries) as unknown as TaskFacts
}

function selectedTrials(run: Schema<'RunDetail'>): number {
  const { selection } = run.spec
  const trials = typeof selection === 'object' && selection !== null && 'trials' in selection ? selection.trials : 1
  return typeof trials === 'number' ? trials : 1
}

/** Show the first rows when the list is another one. */
function useStartOf(place: RefObject<HTMLElement | null>, list: string): void {
  const shown = useRef(list)
  useEffect(() => {
    if (shown.current === list) return
    shown.current = list
    const grid = place.current?.querySelector('[role=grid]')
    if (grid) grid.scrollTop = 0
  }, [place, list])
}
