/** What kinds of events are called, and which of them stand out. */
import { lookOf } from '../parts/look'
import type { EventDocument } from './events'
import { payloadOf, textIn } from './events'

export type EventTone = 'seen' | 'done' | 'said' | 'note' | 'warn' | 'bad' | 'edge'

const LABELS: Record<string, { label: string; tone: EventTone }> = {
  episode_start: { label: 'Start', tone: 'edge' },
  observation: { label: 'Observation', tone: 'seen' },
  message: { label: 'Message', tone: 'note' },
  model_call: { label: 'Model', tone: 'said' },
  action: { label: 'Action', tone: 'done' },
  tool_call: { label: 'Tool call', tone: 'done' },
  step_result: { label: 'Result', tone: 'note' },
  technique_event: { label: 'Technique', tone: 'note' },
  warning: { label: 'Warning', tone: 'warn' },
  retry: { label: 'Retry', tone: 'warn' },
  error: { label: 'Error', tone: 'bad' },
  score: { label: 'Score', tone: 'edge' },
  log: { label: 'Note', tone: 'note' },
  episode_end: { label: 'End', tone: 'edge' },
}

/** Return what an event is called. */
export function labelOf(event: EventDocument): { label: string; tone: EventTone } {
  const known = lookOf(LABELS, event.kind) ?? { label: event.kind.replaceAll('_', ' '), tone: 'note' as const }
  const stream = event.kind === 'log' ? textIn(payloadOf(event), 'stream') : ''
  if (stream !== '') return { ...known, label: stream === 'stderr' ? 'Error output' : 'Output' }
  // A model may be asked by more than one: the calls of a grader are those of its judge.
  const named = event.kind === 'action' || (event.kind === 'model_call' && textIn(payloadOf(event), 'role') === 'judge')
  const role = named ? textIn(payloadOf(event), 'role') : ''
  return role ? { ...known, label: `${known.label} · ${role.slice(0, 40)}` } : known
}

/** Return what events of a kind are called. */
export function kindName(kind: string): string {
  return lookOf(LABELS, kind)?.label ?? kind.replaceAll('_', ' ')
}
