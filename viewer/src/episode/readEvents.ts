import { get } from '../api/client'
import type { Answer, Query } from '../api/types'

type Wanted = NonNullable<Query<'/api/episodes/{episode_id}/events', 'get'>> & { limit: number }
type EventPage = Answer<'/api/episodes/{episode_id}/events', 'get'>

/** Read the first `limit` events that fit. The server answers after a moment with what it found so far, so ask on. */
export async function readEvents(episodeId: string, query: Wanted, signal?: AbortSignal): Promise<EventPage> {
  const items: EventPage['items'] = []
  let from = query.from ?? 0
  for (;;) {
    const limit = query.limit - items.length
    const page: EventPage = await get('/api/episodes/{episode_id}/events', {
      params: { episode_id: episodeId },
      query: { ...query, from, limit },
      ...(signal && { signal }),
    })
    items.push(...page.items)
    if (page.next === null || items.length >= query.limit) return { ...page, items }
    from = page.next
  }
}
