/** Names of event kinds, and which of them stand out. */
import { EVENTS } from '../api/words'
import { lookOf } from '../parts/look'
import type { EventDocument } from './events'
import { payloadOf, textIn } from './events'

type EventTone = 'seen' | 'done' | 'said' | 'note' | 'warn' | 'bad' | 'edge'

const TONES: Record<keyof typeof EVENTS, EventTone> = {
  episode_start: 'edge',
  observation: 'seen',
  message: 'note',
  model_call: 'said',
  action: 'done',
  tool_call: 'done',
  step_result: 'note',
  technique_event: 'note',
  warning: 'warn',
  retry: 'warn',
  error: 'bad',
  score: 'edge',
  log: 'note',
  episode_end: 'edge',
}

/** Return the name of an event, and how it is marked. */
export function labelOf(event: EventDocument): { label: string; tone: EventTone } {
  const known = { label: kindName(event.kind), tone: lookOf<EventTone>(TONES, event.kind) ?? 'note' }
  const stream = event.kind === 'log' ? textIn(payloadOf(event), 'stream') : ''
  if (stream !== '') return { ...known, label: stream === 'stderr' ? 'stderr' : 'stdout' }
  // Graders ask a model as well: the role of their calls is judge.
  const named = event.kind === 'action' || (event.kind === 'model_call' && textIn(payloadOf(event), 'role') === 'judge')
  const role = named ? textIn(payloadOf(event), 'role') : ''
  return role ? { ...known, label: `${known.label} · ${role.slice(0, 40)}` } : known
}

/** Return the name of a kind of event. */
export function kindName(kind: string): string {
  return lookOf<string>(EVENTS, kind) ?? kind.replaceAll('_', ' ')
}
