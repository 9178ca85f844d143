/** The rows of the episode table: by place in the plan where nothing is filtered, else page after page. */

import { keepPreviousData, useInfiniteQuery, useQueries } from '@tanstack/react-query'
import { useCallback, useEffect, useMemo } from 'react'
import { get } from '../api/client'
import { documentQuery } from '../api/query'
import type { Query, Schema } from '../api/types'
import { pagesOf, planRow, type Row } from './plan'
import { episodeFilter, isPlanOrder, type RunSearch } from './search'

/** Rows of one request. */
export const PAGE = 200

/** Rows that a filtered table shows as loading below those that are there. */
const AHEAD = 8

type EpisodePage = Schema<'EpisodePage'>

/** What a virtual table needs. `rowAt` is undefined while a row is on its way. */
export interface Rows {
  /** Rows to make room for. */
  count: number
  rowAt: (index: number) => Row | undefined
  /** How many match; null where counting would take too long. */
  total: number | null
  totalExact: boolean
  /** The first answer is on its way. */
  waiting: boolean
  /** What is shown belongs to the filter before. */
  stale: boolean
  error: Error | null
  retry: () => void
}

/** The query of `/api/runs/{run_id}/episodes` for a search. */
function episodesQuery(search: RunSearch): Query<'/api/runs/{run_id}/episodes', 'get'> {
  return { ...episodeFilter(search), limit: PAGE }
}

/** Rows for the search of the page, of which `first`…`last` are in sight. */
export function useEpisodes(runId: string, planned: number, search: RunSearch, first: number, last: number): Rows {
  const inPlan = isPlanOrder(search)
  const plan = usePlan(runId, planned, first, last, inPlan)
  const list = useList(runId, search, last, !inPlan)
  return inPlan ? plan : list
}

function usePlan(runId: string, planned: number, first: number, last: number, enabled: boolean): Rows {
  const pages = useMemo(() => {
    const end = Math.min(last, planned - 1)
    return enabled && planned > 0 ? pagesOf(Math.min(first, end), end, PAGE) : []
  }, [first, last, planned, enabled])
  const answers = useQueries({
    queries: pages.map((page) =>
      documentQuery('/api/runs/{run_id}/episodes', {
        params: { run_id: runId },
        query: { at: page * PAGE, limit: PAGE },
      }),
    ),
  })
  return {
    count: planned,
    rowAt: (index) => {
      const found = answers[pages.indexOf(Math.floor(index / PAGE))]?.data
      return found === undefined ? undefined : planRow(found.items, index)
    },
    total: planned,
    totalExact: true,
    waiting: planned > 0 && answers.every(({ isPending }) => isPending),
    stale: false,
    error: answers.find(({ error }) => error !== null)?.error ?? null,
    retry: () => {
      for (const { refetch } of answers) void refetch()
    },
  }
}

function useList(runId: string, search: RunSearch, last: number, enabled: boolean): Rows {
  const query = episodesQuery(search)
  const answer = useInfiniteQuery({
    queryKey: ['/api/runs/{run_id}/episodes', { run_id: runId }, query, 'pages'],
    queryFn: ({ pageParam, signal }) =>
      get('/api/runs/{run_id}/episodes', { params: { run_id: runId }, query: { ...query, cursor: pageParam }, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page: EpisodePage) => page.cursor ?? undefined,
    placeholderData: keepPreviousData,
    enabled,
  })
  const { data, hasNextPage, isFetchingNextPage, isPlaceholderData, error, refetch } = answer
  const items = useMemo(() => data?.pages.flatMap((page) => page.items) ?? [], [data])
  const { fetchNextPage } = answer
  const more = hasNextPage && !isPlaceholderData
  const wanted = enabled && more && !isFetchingNextPage && error === null && last >= items.length - PAGE / 4
  useEffect(() => {
    if (wanted) void fetchNextPage()
  }, [wanted, fetchNextPage])
  const rowAt = useCallback(
    (index: number): Row | undefined => {
      const episode = items[index]
      return episode === undefined ? undefined : { kind: 'episode', index: episode.index, episode }
    },
    [items],
  )
  const end = data?.pages.at(-1)
  return {
    count: items.length + (more ? AHEAD : 0),
    rowAt,
    total: end?.total ?? (more ? null : items.length),
    totalExact: end?.total == null ? !more : end.total_exact,
    waiting: enabled && data === undefined && error === null,
    stale: isPlaceholderData,
    error,
    retry: () => void refetch(),
  }
}
