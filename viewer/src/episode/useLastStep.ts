import { useDocument } from '../api/query'
import type { Schema } from '../api/types'

/** Return the last step that has events: one after the last that was completed when the episode broke off in it. */
export function useLastStep(episode: Schema<'EpisodeDetail'>): number {
  const { data } = useDocument('/api/episodes/{episode_id}/steps', {
    params: { episode_id: episode.id },
    query: { from: episode.steps + 1, limit: 1 },
  })
  return data?.items[0]?.step ?? episode.steps
}
