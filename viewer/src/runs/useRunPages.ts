import { useQueries, useQueryClient } from '@tanstack/react-query'
import { useCallback, useEffect, useRef, useState } from 'react'
import { afterPage, type Beginnings, pagesNear, rowsKnown, unread } from './beginnings'
import { PAGE_SIZE, type Page, type Run } from './page'
import { pageQuery } from './pageQuery'
import { type RunsSearch, runsQuery } from './search'

/** A list of runs of which only the first page and those near the visible rows are held. */
export interface RunPages {
  /** Rows that can be scrolled to. */
  length: number
  /** The run of a row, while its page is there. */
  at: (row: number) => Run | undefined
  /** The runs that are there, in order. */
  runs: Run[]
  total: number | undefined
  totalExact: boolean
  /** Whether what is shown is the answer to an earlier question. */
  stale: boolean
  error: Error | null
  /** When the first page was read, UNIX time in ms. */
  readAt: number
  /** Read again from the start. */
  refresh: () => void
}

/** The runs of a search around the rows `first`…`last`. */
export function useRunPages(search: RunsSearch, first: number, last: number): RunPages {
  const client = useQueryClient()
  const key = JSON.stringify(runsQuery(search))
  const [found, setFound] = useState<Beginnings>(() => unread(key))
  const known = found.key === key ? found : unread(key)
  const near = pagesNear(first, last, PAGE_SIZE, known.cursors.length)
  const earlier = useRef<Page | undefined>(undefined)

  const results = useQueries({
    queries: near.map((page) => ({
      ...pageQuery(search, known.cursors[page] ?? undefined),
      staleTime: page === 0 ? 5_000 : Number.POSITIVE_INFINITY,
      gcTime: 60_000,
      refetchOnWindowFocus: false,
      placeholderData: page === 0 ? () => earlier.current : undefined,
    })),
  })
  const read = near.flatMap((page, index) => {
    const result = results[index]
    return result?.data === undefined ? [] : [{ page, data: result.data, stale: result.isPlaceholderData }]
  })
  const head = results[0]

  useEffect(() => {
    if (head?.data !== undefined) earlier.current = head.data
  }, [head?.data])
  let next = known
  for (const { page, data, stale } of read) {
    if (!stale) next = afterPage(next, page, data.items.length, data.cursor)
  }
  if (next !== known) setFound(next)

  const refresh = useCallback(() => {
    setFound(unread(key))
    void client.invalidateQueries({ queryKey: ['/api/runs'] })
    void client.invalidateQueries({ queryKey: ['/api/runs/facets'] })
  }, [client, key])
  const shown = head?.isPlaceholderData ? (head.data?.items.length ?? 0) : rowsKnown(next, PAGE_SIZE)
  return {
    length: head?.data === undefined ? 0 : shown,
    at: (row) => read.find(({ page }) => page === Math.floor(row / PAGE_SIZE))?.data.items[row % PAGE_SIZE],
    runs: read.flatMap(({ data }) => data.items),
    total: head?.data?.total,
    totalExact: head?.data?.total_exact ?? true,
    stale: head?.isPlaceholderData ?? false,
    error: results.find((result) => result.error)?.error ?? null,
    readAt: head?.dataUpdatedAt ?? 0,
    refresh,
  }
}
