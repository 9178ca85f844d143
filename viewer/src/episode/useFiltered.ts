import { useInfiniteQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { get } from '../api/client'
import type { EventDocument } from './events'

const PAGE = 200

/** Events of some kinds in their order, as far as they were read. */
interface Filtered {
  items: EventDocument[]
  /** Position up to which the trace was searched. */
  searched: number
  done: boolean
  loading: boolean
  error: Error | null
  more: () => void
}

/** Read the events of some kinds, page by page. */
export function useFiltered(episodeId: string, kinds: readonly string[], total: number, enabled = true): Filtered {
  const query = useInfiniteQuery({
    queryKey: ['events of kinds', episodeId, kinds, total],
    enabled: enabled && kinds.length > 0 && episodeId !== '',
    initialPageParam: 0,
    queryFn: ({ pageParam, signal }) =>
      get('/api/episodes/{episode_id}/events', {
        params: { episode_id: episodeId },
        query: { from: pageParam, limit: PAGE, kind: [...kinds] },
        signal,
      }),
    getNextPageParam: (page) => page.next ?? undefined,
  })
  const pages = query.data?.pages
  const items = useMemo(() => (pages ?? []).flatMap((page) => page.items), [pages])
  const last = pages?.at(-1)
  return {
    items,
    searched: last ? (last.next ?? last.total) : 0,
    done: last !== undefined && last.next === null,
    loading: query.isFetching,
    error: query.error,
    more: () => {
      if (query.hasNextPage && !query.isFetching) void query.fetchNextPage()
    },
  }
}
