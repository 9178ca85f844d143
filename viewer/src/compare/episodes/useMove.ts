/** One step of an episode as it is compared: what was done, what was thought, and what was seen after it. */

import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { Schema } from '../../api/types'
import { type EventDocument, payloadOf, textIn } from '../../episode/events'
import { FRAME_KINDS, type Frame, frameOf } from '../../episode/frame'
import { readEvents } from '../../episode/readEvents'
import type { EpisodePair, Move } from './pair'

/** Events of a step that are read. */
const MOST_EVENTS = 60

/** Read a step; null while it is being read, and where there is none. */
export function useMove(episode: Schema<'EpisodeDetail'>, move: Move | null, by: EpisodePair['by']): Frame | null {
  const kind = by === 'call' ? ([...FRAME_KINDS, 'message'] as const) : FRAME_KINDS
  const wanted = { from: move?.first_event ?? 0, limit: MOST_EVENTS, kind: [...kind] }
  const { data } = useQuery({
    queryKey: ['/api/episodes/{episode_id}/events', { episode_id: episode.id }, wanted, episode.events],
    queryFn: ({ signal }) => readEvents(episode.id, wanted, signal),
    enabled: move !== null,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
  })
  return useMemo(() => {
    if (move === null || data === undefined) return null
    const events = data.items.filter(({ seq }) => seq < move.first_event + move.events)
    return by === 'call' && move.number > 0 ? callFrame(events, move) : frameOf(events, move.step)
  }, [data, move, by])
}

/** A call of a program's model: its reply is the action, what its tools returned before the next call came of it. */
export function callFrame(events: readonly EventDocument[], move: Move): Frame {
  const frame = frameOf([], move.step)
  const returned: unknown[] = []
  for (const event of events) {
    const payload = payloadOf(event)
    if (event.kind === 'model_call' && payload.role === undefined) {
      frame.actions = [{ action: { text: textIn(payload, 'text'), tool_calls: payload.tool_calls ?? [] }, role: '' }]
      frame.reasoning = textIn(payload, 'reasoning')
    } else if (event.kind === 'message' && payload.role === 'tool') returned.push(payload.content)
    else if (event.kind === 'step_result' || event.kind === 'error') {
      const { reward, over, failure } = frameOf([event], event.step)
      Object.assign(frame, { reward, over, failure: failure ?? frame.failure })
    }
  }
  if (returned.length > 0) {
    frame.after = { data: returned.length === 1 ? returned[0] : returned, type: '', systemPrompt: '' }
  }
  return frame
}
