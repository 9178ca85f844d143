import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useMemo, useRef } from 'react'
import { documentQuery } from '../api/query'
import { RUN_SORT_KEYS } from '../api/words'
import { useShortcut } from '../keys/useShortcut'
import { useNarrow } from '../parts/useNarrow'
import { VirtualTable } from '../parts/VirtualTable'
import { useRoomBelow } from '../run/useRoomBelow'
import { lastOfWhole } from './beginnings'
import { PAGE_SIZE, type Row } from './page'
import styles from './RunList.module.css'
import { narrowRunColumns, runColumns } from './runColumns'
import { scalesOf } from './scale'
import { compact, DEFAULT_SORT, nextSort, type RunsSearch } from './search'
import { useCompare } from './useCompare'
import { useFolding } from './useFolding'
import type { RunPages } from './useRunPages'
import type { Selection } from './useSelection'
import { onlyRollouts } from './wording'

/** What a list of runs needs. */
interface RunListProps {
  search: RunsSearch
  onChange: (search: RunsSearch) => void
  pages: RunPages
  selection: Selection
  /** Told which rows are in view. */
  onView: (first: number, last: number) => void
}

/** Rows that stand there while the first ones are on their way. */
const WAITING = 12
/** Folded rows before the end at which the next page is read. */
const NEAR_END = 30

/** The runs as a table or, where that would be too narrow, as cards; moved through by keys. */
export function RunList({ search, onChange, pages, selection, onView }: RunListProps) {
  const place = useRef<HTMLDivElement>(null)
  const maxHeight = useRoomBelow(place, '22rem')
  const narrow = useNarrow()
  const navigate = useNavigate()
  const compare = useCompare()
  const { rows, open, onFold } = useFolding(pages.runs, search.attempts === 'folded')
  const scales = useMemo(() => scalesOf(pages.runs), [pages.runs])
  const published = pages.runs.some((run) => run.published !== null)
  const kinds = useQuery(documentQuery('/api/runs/facets')).data?.kind.map(({ value }) => value)
  const rollouts = onlyRollouts(search, kinds)
  const columns = useMemo(
    () =>
      (narrow ? narrowRunColumns : runColumns)({ chosen: search.columns, scales, published, rollouts, open, onFold }),
    [narrow, search.columns, scales, published, rollouts, open, onFold],
  )
  useShortcut('c', 'Compare the selected runs', () => compare(selection.ids), { enabled: selection.ids.length > 1 })
  useShortcut('Escape', 'Clear selection', selection.clear, { enabled: selection.ids.length > 0 })

  const sort = (wanted: string) => {
    const key = RUN_SORT_KEYS.find((known) => known === wanted.replace(/^-/, ''))
    if (key) onChange(compact({ ...search, sort: nextSort(search.sort, key) }))
  }
  const look = (first: number, last: number) => {
    if (rows) onView(0, lastOfWhole(pages.length, PAGE_SIZE, last >= rows.length - NEAR_END))
    else onView(first, last)
  }
  const length = rows ? rows.length : pages.length
  return (
    <div
      ref={place}
      className={styles.list}
      data-run-list
      data-stale={pages.stale || undefined}
      aria-busy={pages.stale}
    >
      <VirtualTable
        key={JSON.stringify({ ...search, columns: undefined })}
        label="Runs"
        columns={columns}
        count={pages.total === undefined ? WAITING : length}
        getRow={(index) => (rows ? rows[index] : aloneAt(pages, index))}
        rowKey={({ run }) => run.id}
        rowHeight={narrow ? 144 : 52}
        headHeight={36}
        maxHeight={selection.ids.length > 0 ? `calc(${maxHeight} - ${narrow ? 8.5 : 3.75}rem)` : maxHeight}
        sort={search.sort ?? DEFAULT_SORT}
        onSort={sort}
        onOpen={({ run }) => void navigate({ to: '/runs/$runId', params: { runId: run.id } })}
        selected={selection.set}
        onSelect={({ run }) => selection.toggle(run)}
        onRange={look}
        shortcuts
      />
    </div>
  )
}

/** The run at a place, as a row of its own. */
function aloneAt(pages: RunPages, index: number): Row | undefined {
  const run = pages.at(index)
  return run && { run, attempts: [], nested: false }
}
