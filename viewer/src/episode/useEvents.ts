import { useQueries } from '@tanstack/react-query'
import { useMemo, useRef } from 'react'
import { documentQuery } from '../api/query'
import { type EventAt, type EventDocument, WINDOW } from './events'

const KEPT_MS = 20_000

/**
 * Read the events `first` to `end` of an episode with `total` events, in windows that are dropped when they have not
 * been looked at for a while. Returns what is loaded of them.
 */
export function useEvents(episodeId: string, total: number, first: number, end: number): EventAt {
  const starts = windowsOf(first, Math.min(end, total))
  const results = useQueries({
    queries: starts.map((from) => {
      const limit = Math.min(WINDOW, total - from)
      return {
        ...documentQuery('/api/episodes/{episode_id}/events', {
          params: { episode_id: episodeId },
          query: { from, limit },
        }),
        staleTime: Number.POSITIVE_INFINITY,
        gcTime: KEPT_MS,
      }
    }),
  })
  // While the last window grows its old content stays on show.
  const kept = useRef(new Map<number, EventDocument[]>())
  const owner = useRef(episodeId)
  if (owner.current !== episodeId) {
    kept.current.clear()
    owner.current = episodeId
  }
  const loaded = new Map<number, EventDocument[]>()
  starts.forEach((from, index) => {
    const items = results[index]?.data?.items ?? kept.current.get(from)
    if (items) loaded.set(from, items)
  })
  kept.current = loaded
  const state = results.map((result) => result.dataUpdatedAt).join()
  const key = `${episodeId} ${starts.join()} ${state}`
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key says which windows are loaded, and how new they are
  return useMemo(() => (place: number) => loaded.get(place - (place % WINDOW))?.[place % WINDOW], [key])
}

/** Return where the windows begin that cover the events `first` to `end`. */
export function windowsOf(first: number, end: number): number[] {
  const starts: number[] = []
  for (let from = Math.max(first - (first % WINDOW), 0); from < end; from += WINDOW) starts.push(from)
  return starts
}
