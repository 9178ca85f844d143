import { keepPreviousData, queryOptions, useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useMemo } from 'react'
import { FRAME_KINDS, type Frame, frameOf } from './frame'
import { readEvents } from './readEvents'

const AHEAD = 3

/** Read one move of an episode, and the next ones before they are asked for; null while it is being read. */
export function useFrame(episodeId: string, step: number, last: number, total: number): Frame | null {
  const cache = useQueryClient()
  const { data, isPlaceholderData } = useQuery({
    ...frameQuery(episodeId, step, total),
    enabled: episodeId !== '',
    placeholderData: keepPreviousData,
  })
  useEffect(() => {
    for (let next = step + 1; next <= Math.min(step + AHEAD, last); next++) {
      void cache.prefetchQuery(frameQuery(episodeId, next, total))
    }
  }, [cache, episodeId, step, last, total])
  return useMemo(() => (data && !isPlaceholderData ? frameOf(data.items, step) : null), [data, isPlaceholderData, step])
}

function frameQuery(episodeId: string, step: number, total: number) {
  // A finished frame never changes; the last one of an episode that goes on may.
  const wanted = { step: Math.max(step - 1, 0), limit: 60, kind: [...FRAME_KINDS] }
  return queryOptions({
    queryKey: ['/api/episodes/{episode_id}/events', { episode_id: episodeId }, wanted, total],
    queryFn: ({ signal }) => readEvents(episodeId, wanted, signal),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
  })
}
