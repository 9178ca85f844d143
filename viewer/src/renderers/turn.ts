/** Turns and answers: how benchmarks talk with an agent that remembers the conversation itself. */
import { parsedJson } from './content'
import { isObject, type Talk, type ToolUse, talkOf, toolCallOf } from './talk'

/** A tool as it is offered. */
export interface Offered {
  name: string
  description: string
  parameters: unknown
}

/** New messages of a conversation, and the tools that may be called from now on. */
export interface Turn {
  thread: string
  talks: Talk[]
  /** The tools; null where they stay as they were. */
  tools: Offered[] | null
  schema: unknown
}

/** What the agent said, and the tools that it wants called. */
export interface Answer {
  text: string
  calls: ToolUse[]
}

const TURN = new Set(['messages', 'tools', 'thread', 'system', 'schema'])

/** Return the turn that an observation holds; null if it is none, or no more than messages. */
export function turnOf(data: unknown): Turn | null {
  if (!isObject(data) || !Array.isArray(data.messages)) return null
  const keys = Object.keys(data)
  if (keys.length < 2 || !keys.every((key) => TURN.has(key))) return null
  const said = data.messages.map(talkOf)
  if (!said.every((talk) => talk !== null)) return null
  const system: Talk[] =
    typeof data.system === 'string' ? [{ role: 'system', parts: [{ kind: 'text', text: data.system }], calls: [] }] : []
  return {
    thread: typeof data.thread === 'string' ? data.thread : '',
    talks: [...system, ...said],
    tools: Array.isArray(data.tools) ? data.tools.map(offered).filter((tool) => tool !== null) : null,
    schema: data.schema ?? null,
  }
}

/** Return the answer that an action holds; null if it is none. */
export function answerOf(data: unknown): Answer | null {
  if (!isObject(data) || typeof data.text !== 'string' || !Array.isArray(data.tool_calls)) return null
  if (Object.keys(data).length !== 2) return null
  const calls = data.tool_calls.map((call) => toolCallOf(isObject(call) ? { arguments: {}, ...call } : call))
  return calls.every((call) => call !== null) ? { text: data.text, calls } : null
}

/** Whether a reply of a model, as text, is nothing but this action. */
export function spells(text: string, action: unknown): boolean {
  if (text === '') return false
  if (action === text) return true
  const read = action !== null && typeof action === 'object' ? parsedJson(text) : undefined
  return read !== undefined && (wording(read) ?? JSON.stringify(read)) === (wording(action) ?? JSON.stringify(action))
}

/** An answer without the ids of its calls, which are given to it later; null for anything else. */
function wording(data: unknown): string | null {
  const answer = answerOf(data)
  return answer && JSON.stringify([answer.text, answer.calls.map((call) => [call.name, call.arguments])])
}

function offered(tool: unknown): Offered | null {
  if (!isObject(tool)) return null
  const inside = isObject(tool.function) ? tool.function : tool
  if (typeof inside.name !== 'string') return null
  return {
    name: inside.name,
    description: typeof inside.description === 'string' ? inside.description : '',
    parameters: inside.parameters ?? null,
  }
}
