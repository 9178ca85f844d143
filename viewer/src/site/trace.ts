/** Traces of a site: windows of events, outlines, and model calls put together from them. */
import type { Query, Schema } from '../api/types'
import { type EpisodeFile, episodeFile } from './episodes'
import { absent, fileName, readFile } from './files'

type Event = Schema<'EventDocument'>
type Payload = Schema<'CallDocument'>['payload']
type EventQuery = NonNullable<Query<'/api/episodes/{episode_id}/events', 'get'>>
type StepQuery = NonNullable<Query<'/api/episodes/{episode_id}/steps', 'get'>>

/** Files that one filtered answer looks through. */
const LOOKED_THROUGH = 8

/** Answer `/api/episodes/{id}/events`. */
export async function listEvents(id: string, query: EventQuery = {}): Promise<Schema<'EventPageDocument'>> {
  const file = await episodeFile(id)
  const total = file.detail.events
  const limit = query.limit ?? 200
  let from = query.from ?? 0
  if (query.step !== null && query.step !== undefined) {
    from = Math.max((await firstOfStep(id, file, query.step)) ?? total, from)
  }
  const filtered = (query.kind?.length ?? 0) > 0 || Boolean(query.q)
  const items: Event[] = []
  let next = from
  let files = 0
  for (let number = windowOf(file, from); number < file.windows.length; number += 1) {
    for (const event of await window(id, file, number)) {
      if (event.seq < from || items.length === limit) continue
      next = event.seq + 1
      if (!filtered || fits(event, query)) items.push(event)
    }
    files += 1
    if (items.length === limit || (filtered && files === LOOKED_THROUGH)) break
  }
  return { items, next: next < total && (items.length === limit || filtered) ? next : null, total }
}

/** Answer `/api/episodes/{id}/steps`. */
export async function listSteps(id: string, query: StepQuery = {}): Promise<Schema<'StepPage'>> {
  const file = await episodeFile(id)
  const from = query.from ?? 0
  const limit = query.limit ?? 200
  const items: Schema<'StepSummary'>[] = []
  for (let number = pageOf(file, from); number < file.pages.length; number += 1) {
    const found = (await outline(id, file, number)).items.filter((item) => item.step >= from)
    items.push(...found)
    if (items.length > limit) break
  }
  return { items: items.slice(0, limit), next: items[limit]?.step ?? null, last: file.steps.last }
}

/** Answer `/api/episodes/{id}/calls/{seq}`: what was sent is said once in the trace, and referred to by its index. */
export async function getCall(id: string, seq: number): Promise<Schema<'CallDocument'>> {
  const file = await episodeFile(id)
  const last = windowOf(file, seq)
  const event = (await window(id, file, last)).find((one) => one.seq === seq)
  if (event?.kind !== 'model_call' || !isObject(event.payload)) throw absent(`model call at event ${seq}`)
  const payload = event.payload
  const said = new Map<number, Payload>()
  let previous: number | null = null
  for (let number = 0; number <= last; number += 1) {
    for (const one of await window(id, file, number)) {
      if (one.seq >= seq || !isObject(one.payload)) continue
      if (one.kind === 'model_call' && one.payload.role === payload.role) previous = one.seq
      if (one.kind !== 'message') continue
      if (typeof one.payload.index === 'number') said.set(one.payload.index, one.payload)
    }
  }
  const reply: Payload = { role: 'assistant', content: payload.text ?? '' }
  for (const name of ['reasoning', 'tool_calls']) if (name in payload) reply[name] = payload[name] ?? null
  return {
    seq,
    step: event.step,
    model: String(payload.model ?? ''),
    messages: indexes(payload.messages).flatMap((index): Payload[] =>
      [said.get(index)].filter((one) => one !== undefined),
    ),
    reply: 'text' in payload ? reply : null,
    payload,
    previous,
    // Putting the body together needs the code of the models.
    wire: null,
    again: false,
  }
}

function indexes(runs: Payload[string] | undefined): number[] {
  const found: number[] = []
  for (const run of Array.isArray(runs) ? runs : []) {
    const [first, last] = Array.isArray(run) ? run : []
    if (typeof first !== 'number' || typeof last !== 'number') continue
    for (let index = first; index <= last; index += 1) found.push(index)
  }
  return found
}

async function firstOfStep(id: string, file: EpisodeFile, step: number): Promise<number | null> {
  for (let number = pageOf(file, step); number < file.pages.length; number += 1) {
    const found = (await outline(id, file, number)).items.find((item) => item.step >= step)
    if (found) return found.first_event
  }
  return null
}

async function window(id: string, file: EpisodeFile, number: number): Promise<Event[]> {
  return number === 0 ? file.events : await readFile<Event[]>(`episodes/${fileName(id)}-${number}`)
}

async function outline(id: string, file: EpisodeFile, number: number): Promise<Schema<'StepPage'>> {
  return number === 0 ? file.steps : await readFile<Schema<'StepPage'>>(`episodes/${fileName(id)}-steps-${number}`)
}

function windowOf(file: EpisodeFile, seq: number): number {
  return placeOf(file.windows, seq)
}

function pageOf(file: EpisodeFile, step: number): number {
  return placeOf(file.pages, step)
}

/** The place of the last start that is not after a value. */
function placeOf(starts: readonly number[], value: number): number {
  let [low, high] = [0, starts.length]
  while (high - low > 1) {
    const middle = (low + high) >> 1
    if ((starts[middle] ?? 0) <= value) low = middle
    else high = middle
  }
  return low
}

function fits(event: Event, query: EventQuery): boolean {
  if (query.kind?.length && !query.kind.includes(event.kind)) return false
  return !query.q || seenIn(event.payload).includes(query.q.toLowerCase())
}

/** The text of a payload as people see it: escapes resolved, without regard to case. */
function seenIn(payload: Event['payload']): string {
  const text = JSON.stringify(payload ?? null)
  return text.replace(/\\(u[0-9a-f]{4}|.)/g, (whole) => JSON.parse(`"${whole}"`) as string).toLowerCase()
}

function isObject(value: Event['payload']): value is Payload {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
