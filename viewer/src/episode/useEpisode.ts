import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { documentQuery } from '../api/query'
import { source } from '../api/source'

const POLL_MS = 2_000

/** Read an episode; one that goes on is read again every two seconds. */
export function useEpisode(episodeId: string) {
  return useQuery({
    ...documentQuery('/v1/episodes/{episode_id}', { params: { episode_id: episodeId } }),
    enabled: episodeId !== '',
    placeholderData: keepPreviousData,
    refetchInterval: (query) => (source.live && isOpen(query.state.data?.state) ? POLL_MS : false),
  })
}

/** Whether an episode in this state still grows. */
export function isOpen(state: string | undefined): boolean {
  return state === 'running' || state === 'pending'
}
