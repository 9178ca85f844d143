/** What a sample ended with: the last observation of its trace. */

import { useQuery } from '@tanstack/react-query'
import type { Schema } from '../../api/types'
import { observed } from '../events'
import { readEvents } from '../readEvents'

/** Events before the end among which the last observation is. */
const NEAR_END = 200

/** The last observation's content; undefined while it is read, null where there is none. */
export function useOutcome(episode: Schema<'EpisodeDetail'>): unknown {
  const from = Math.max(episode.events - NEAR_END, 0)
  const wanted = { from, limit: NEAR_END, kind: ['observation' as const] }
  const { data } = useQuery({
    queryKey: ['/api/episodes/{episode_id}/events', { episode_id: episode.id }, wanted],
    queryFn: ({ signal }) => readEvents(episode.id, wanted, signal),
  })
  if (data === undefined) return undefined
  const last = data.items.at(-1)
  return last === undefined ? null : observed(last).data
}
