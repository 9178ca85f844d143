import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { documentQuery } from '../api/query'
import { source } from '../api/source'
import { goesOn } from './goesOn'

const POLL_MS = 2_000

/** Read an episode; one that goes on is read again every two seconds. */
export function useEpisode(episodeId: string) {
  return useQuery({
    ...documentQuery('/api/episodes/{episode_id}', { params: { episode_id: episodeId } }),
    enabled: episodeId !== '',
    placeholderData: keepPreviousData,
    refetchInterval: (query) => (source.live && goesOn(query.state.data) ? POLL_MS : false),
  })
}
