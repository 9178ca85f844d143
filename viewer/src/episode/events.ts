/** Events of an episode with payloads that are safe to look into. */
import type { Schema } from '../api/types'

export type EventDocument = Schema<'EventDocument'>

/** The payload of an event as an object; empty when it is something else. */
export type Payload = Record<string, unknown>

/** How many events one request brings; windows begin at multiples of it. */
export const WINDOW = 200

/** Return the payload of an event as an object. */
export function payloadOf(event: EventDocument): Payload {
  const payload: unknown = event.payload
  return payload !== null && typeof payload === 'object' && !Array.isArray(payload) ? (payload as Payload) : {}
}

/** Return a text of a payload; empty when there is none. */
export function textIn(payload: Payload, name: string): string {
  const value = payload[name]
  return typeof value === 'string' ? value : ''
}

/** Return a number of a payload; null when there is none. */
export function numberIn(payload: Payload, name: string): number | null {
  const value = payload[name]
  return typeof value === 'number' ? value : null
}

/** An observation: what the environment showed, and as what. */
export interface Observed {
  data: unknown
  type: string
  systemPrompt: string
}

/** Return what an observation event shows. */
export function observed(event: EventDocument): Observed {
  const payload = payloadOf(event)
  return {
    data: payload.data,
    type: textIn(payload, 'content_type') || 'application/json',
    systemPrompt: textIn(payload, 'system_prompt'),
  }
}

/** Tokens of a model call. */
interface Spent {
  prompt: number
  completion: number
  cost: number | null
}

/** Return the tokens and the cost of a model call. */
export function spent(event: EventDocument): Spent {
  const usage = payloadOf(event).usage
  const fields = usage !== null && typeof usage === 'object' ? (usage as Payload) : {}
  return {
    prompt: numberIn(fields, 'prompt') ?? 0,
    completion: numberIn(fields, 'completion') ?? 0,
    cost: numberIn(fields, 'cost_usd'),
  }
}

/** How to get at events near one; undefined where they are not loaded. */
export type EventAt = (place: number) => EventDocument | undefined

/** Return the last event before `place` that fits, looking back over loaded events only. */
export function lookBack(
  eventAt: EventAt,
  place: number,
  fits: (event: EventDocument) => boolean,
  distance = 60,
): EventDocument | undefined {
  for (let at = place - 1; at >= Math.max(place - distance, 0); at--) {
    const event = eventAt(at)
    if (!event) return undefined
    if (fits(event)) return event
  }
  return undefined
}

/** Return what a tool answered: the message that names the call, looked for in the loaded events after it. */
export function resultOf(eventAt: EventAt, place: number, distance = 60): unknown {
  const call = eventAt(place)
  if (!call) return undefined
  const payload = payloadOf(call)
  if (payload.result !== undefined) return payload.result
  const id = textIn(payload, 'id')
  for (let at = place + 1; id && at < place + distance; at++) {
    const event = eventAt(at)
    if (!event) return undefined
    if (event.kind === 'message' && payloadOf(event).tool_call_id === id) return payloadOf(event).content
  }
  return undefined
}

/** Events that are looked at for the step before: a note about something else may stand between. */
const BEFORE = 5

/** Whether a step begins with an event: none of the last ones belongs to it, or to a later one. */
export function opensStep(row: number, event: EventDocument, eventAt: EventAt): boolean {
  if (row === 0) return true
  if (eventAt(row - 1) === undefined) return false
  return lookBack(eventAt, row, (one) => one.step >= event.step, BEFORE) === undefined
}
