import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useCallback, useMemo, useRef, useState } from 'react'
import { documentQuery } from '../api/query'
import { source } from '../api/source'
import { RUN_SORT_KEYS } from '../api/words'
import { useShortcut } from '../keys/useShortcut'
import { useNarrow } from '../parts/useNarrow'
import { type RowKey, VirtualTable } from '../parts/VirtualTable'
import { place } from '../place'
import { useRoomBelow } from '../run/useRoomBelow'
import { lastOfWhole } from './beginnings'
import { GroupHead } from './GroupHead'
import { isWhole } from './grouping'
import { KeyLine } from './KeyLine'
import { isHead, type ListRow, PAGE_SIZE, type Run } from './page'
import { patchLists } from './patchLists'
import styles from './RunList.module.css'
import { narrowRunColumns, runColumns, withWidth } from './runColumns'
import { scalesOf } from './scale'
import { compact, DEFAULT_SORT, nextSort, type RunsSearch } from './search'
import { useCompare } from './useCompare'
import { useFolding } from './useFolding'
import type { RunPages } from './useRunPages'
import type { Selection } from './useSelection'
import { useStandings } from './useStandings'
import { onlyRollouts } from './wording'

/** What a list of runs needs. */
interface RunListProps {
  search: RunsSearch
  onChange: (search: RunsSearch) => void
  pages: RunPages
  selection: Selection
  /** Whether runs stand below their benchmarks. */
  grouped: boolean
  /** Told which rows are in view. */
  onView: (first: number, last: number) => void
}

/** Rows that stand there while the first ones are on their way. */
const WAITING = 12
/** Folded rows before the end at which the next page is read. */
const NEAR_END = 30
/** Pixels of a row: compact, roomy, and of a card. */
const HEIGHTS = { compact: 32, roomy: 40, card: 150 }
const NO_BASELINE: readonly string[] = []

/** The runs as a table or, where that would be too narrow, as cards; moved through by keys. */
export function RunList({ search, onChange, pages, selection, grouped, onView }: RunListProps) {
  const box = useRef<HTMLDivElement>(null)
  const maxHeight = useRoomBelow(box, '22rem')
  const narrow = useNarrow()
  const navigate = useNavigate()
  const compare = useCompare()
  const client = useQueryClient()
  const [renaming, setRenaming] = useState<string>()
  const { runs } = pages
  const { rows, open, onFold, onClose } = useFolding(runs, search.attempts === 'folded', grouped && !narrow)
  const scales = useMemo(() => scalesOf(runs), [runs])
  const standings = useStandings(runs, search.baseline ?? NO_BASELINE)
  const kinds = useQuery(documentQuery('/api/runs/facets')).data?.kind.map(({ value }) => value)
  const rollouts = onlyRollouts(search, kinds)
  const onRenamed = useCallback(
    (run: Run | undefined) => {
      setRenaming(undefined)
      if (run) patchLists(client, { runs: [run], deleted: [] })
    },
    [client],
  )
  const columns = (narrow ? narrowRunColumns : runColumns)({
    chosen: search.columns,
    widths: search.width,
    ...{ runs, scales, standings, rollouts, open, onFold, renaming, onRenamed },
  })
  useShortcut('c', 'Compare the selected runs', () => compare(selection.ids), { enabled: selection.ids.length > 1 })
  useShortcut('Escape', 'Clear selection', selection.clear, { enabled: selection.ids.length > 0 })
  const rowKeys = useRowKeys(search, onChange, runs, narrow ? undefined : setRenaming)

  const sort = (wanted: string) => {
    const key = RUN_SORT_KEYS.find((known) => known === wanted.replace(/^-/, ''))
    if (key) onChange(compact({ ...search, sort: nextSort(search.sort, key) }))
  }
  const look = (first: number, last: number) => {
    if (!rows) onView(first, last)
    else if (grouped && !narrow && isWhole(pages.total)) onView(0, (pages.total ?? 1) - 1)
    else onView(0, lastOfWhole(pages.length, PAGE_SIZE, last >= rows.length - NEAR_END))
  }
  const length = rows ? rows.length : pages.length
  const below = narrow ? 'var(--space-2)' : '2.25rem'
  return (
    <div ref={box} className={styles.list} data-run-list data-stale={pages.stale || undefined} aria-busy={pages.stale}>
      <VirtualTable
        key={JSON.stringify({ ...search, columns: undefined, width: undefined, baseline: undefined })}
        label="Runs"
        columns={columns}
        count={pages.total === undefined ? WAITING : length}
        getRow={(index) => (rows ? rows[index] : aloneAt(pages, index))}
        rowKey={(row) => (isHead(row) ? `benchmark ${row.benchmark}` : row.run.id)}
        rowHeight={narrow ? HEIGHTS.card : HEIGHTS[search.rows ?? 'compact']}
        headHeight={30}
        maxHeight={`calc(${maxHeight} - ${below}${selection.ids.length > 0 ? ` - ${narrow ? 8.5 : 3.75}rem` : ''})`}
        sort={search.sort ?? DEFAULT_SORT}
        onSort={sort}
        onOpen={(row) =>
          isHead(row) ? onClose(row.benchmark) : void navigate({ to: '/runs/$runId', params: { runId: row.run.id } })
        }
        selected={selection.set}
        onSelect={(row) => isHead(row) || selection.toggle(row.run)}
        heading={(row) => (isHead(row) ? <GroupHead head={row} standings={standings} onClose={onClose} /> : undefined)}
        skip={(row) => isHead(row) && row.open}
        rowKeys={rowKeys}
        onResize={
          narrow ? undefined : (id, width) => onChange({ ...search, width: withWidth(search.width, id, width) })
        }
        onRange={look}
        shortcuts
      />
      {!narrow && <KeyLine />}
    </div>
  )
}

/** `w` its wrong answers, `b` makes it the baseline of its benchmark, `r` gives it a name. */
function useRowKeys(
  search: RunsSearch,
  onChange: (search: RunsSearch) => void,
  runs: readonly Run[],
  rename: ((id: string) => void) | undefined,
): RowKey<ListRow>[] {
  const navigate = useNavigate()
  const ofRun = (action: (run: Run) => void) => (row: ListRow) => isHead(row) || action(row.run)
  const wrong: RowKey<ListRow> = {
    key: 'w',
    label: 'Wrong answers of the run',
    action: ofRun((run) => {
      const search =
        run.kind === 'rollout' ? { tab: 'samples' as const, outcome: 'fail' as const } : { outcome: 'fail' as const }
      void navigate({ to: '/runs/$runId', params: { runId: run.id }, search })
    }),
  }
  if (!source.live) return [wrong]
  const base: RowKey<ListRow> = {
    key: 'b',
    label: 'Compare the runs of its benchmark with this one',
    action: ofRun((run) => {
      const chosen = search.baseline ?? []
      const others = chosen.filter((id) => runs.find((one) => one.id === id)?.benchmark !== run.benchmark)
      onChange(compact({ ...search, baseline: chosen.includes(run.id) ? others : [...others, run.id] }))
    }),
  }
  if (rename === undefined) return [wrong, base]
  const renames: RowKey<ListRow> = {
    key: 'r',
    label: 'Rename the run',
    action: ofRun((run) => {
      if (place.mode !== 'server' || run.may_change === true) rename(run.id)
    }),
  }
  return [wrong, base, renames]
}

/** The run at a place, as a row of its own. */
function aloneAt(pages: RunPages, index: number): ListRow | undefined {
  const run = pages.at(index)
  return run && { run, attempts: [], nested: false }
}
