/** What a request added to, left out of and changed against the call before it. */

import type { Schema } from '../api/types'
import { script } from '../renderers/diff'
import { isObject } from '../renderers/talk'

type Call = Schema<'CallDocument'>
type Message = Call['messages'][number]

/** A message, or a number of the same ones; of a changed message also what it was. */
export type MessageChange =
  | { kind: 'same'; count: number }
  | { kind: 'added' | 'removed'; message: Message }
  | { kind: 'changed'; message: Message; before: Message }

export interface FieldChange {
  name: string
  before: unknown
  after: unknown
}

/** Fields of a body that hold the messages. */
const SPOKEN = new Set(['messages', 'system', 'contents', 'systemInstruction', 'system_instruction'])

/** The messages of a call against those of the one before. */
export function messageChanges(before: readonly Message[], after: readonly Message[]): MessageChange[] {
  const [a, b] = [before.map(keyOf), after.map(keyOf)]
  const found: MessageChange[] = []
  let gone: Message[] = []
  const close = () => {
    for (const message of gone) found.push({ kind: 'removed', message })
    gone = []
  }
  for (const edit of script(a, b)) {
    const last = found.at(-1)
    if (edit.kind === 'same') {
      close()
      if (last?.kind === 'same') last.count += 1
      else found.push({ kind: 'same', count: 1 })
    } else if (edit.kind === 'removed') gone.push(before[edit.a] as Message)
    else {
      const message = after[edit.b] as Message
      const place = gone.findIndex(({ role }) => role === message.role)
      if (place < 0) {
        close()
        found.push({ kind: 'added', message })
      } else {
        const was = gone.splice(place, 1)[0] as Message
        found.push({ kind: 'changed', message, before: was })
      }
    }
  }
  close()
  return found
}

/** A message without its place in the record, which is another one for the same words. */
function keyOf({ index: _index, ...message }: Message): string {
  return JSON.stringify(message)
}

/** The parameters of a body that differ, tools one by one; null where a body is not recorded. */
export function fieldChanges(before: Call, after: Call): FieldChange[] | null {
  if (!before.wire || !after.wire) return null
  const [a, b] = [parametersOf(before.wire.body), parametersOf(after.wire.body)]
  return [...new Set([...a.keys(), ...b.keys()])].flatMap((name) => {
    const change = { name, before: a.get(name), after: b.get(name) }
    return JSON.stringify(change.before) === JSON.stringify(change.after) ? [] : [change]
  })
}

function parametersOf(body: Record<string, unknown>): Map<string, unknown> {
  const found = new Map<string, unknown>()
  for (const [name, value] of Object.entries(body)) {
    if (SPOKEN.has(name)) continue
    const tools = name === 'tools' && Array.isArray(value) ? value : null
    if (tools === null) found.set(name, value)
    else for (const tool of tools) found.set(`tool ${toolName(tool)}`, tool)
  }
  return found
}

function toolName(tool: unknown): string {
  if (!isObject(tool)) return '?'
  const named = isObject(tool.function) ? tool.function.name : tool.name
  return String(named ?? '?')
}

/** All changes in one line. */
export function changeWords(messages: readonly MessageChange[], fields: readonly FieldChange[] | null): string {
  const counted = (kind: MessageChange['kind']) => messages.filter((one) => one.kind === kind).length
  const parts = (['added', 'changed', 'removed'] as const).flatMap((kind) => {
    const number = counted(kind)
    return number === 0 ? [] : [`${number} ${number === 1 ? 'message' : 'messages'} ${kind}`]
  })
  if (fields !== null && fields.length > 0) {
    parts.push(`${fields.length} ${fields.length === 1 ? 'parameter' : 'parameters'} changed`)
  }
  if (parts.length === 0) return fields === null ? 'The same messages.' : 'The same request.'
  return `${parts.join(', ')}.`
}
