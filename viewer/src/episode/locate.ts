/** Where in an episode something is. */
import { get } from '../api/client'
import { readEvents } from './readEvents'

/** Return the position of the first event of a step, or of the next one that has events; null after the last. */
export async function firstOfStep(episodeId: string, step: number): Promise<number | null> {
  const page = await get('/api/episodes/{episode_id}/events', {
    params: { episode_id: episodeId },
    query: { step, limit: 1 },
  })
  return page.items[0]?.seq ?? null
}

/** Return the position of the event that says why the episode failed; null when it has none. */
export async function errorIn(episodeId: string, total: number): Promise<number | null> {
  // It is nearly always among the last events, and looking there is quick in an episode of any length.
  const near = Math.max(total - 200, 0)
  return (await firstError(episodeId, near)) ?? (near > 0 ? await firstError(episodeId, 0) : null)
}

async function firstError(episodeId: string, from: number): Promise<number | null> {
  const page = await readEvents(episodeId, { from, limit: 1, kind: ['error'] })
  return page.items[0]?.seq ?? null
}
