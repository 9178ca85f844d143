/** The messages of a sample, in whichever form a framework wrote them, as one conversation. */

import { parsedJson } from '../../renderers/content'
import { type Part, type Talk, type ToolUse, talkOf, toolCallOf } from '../../renderers/talk'

/** Messages with the results of tools folded into their calls. `unread`: as it is, shown as JSON. */
export type Said = { kind: 'talk'; talk: Talk } | { kind: 'unread'; value: unknown }

type Json = Record<string, unknown>

/** Roles as people know them, for those of LangChain. */
const ROLES: Record<string, string> = { human: 'user', ai: 'assistant', function: 'tool' }

/** Read messages of chat completions, items of Responses, blocks of Strands and Anthropic, messages of LangChain. */
export function conversationOf(messages: readonly unknown[]): Said[] {
  const said: Said[] = []
  const calls = new Map<string, ToolUse>()
  for (const message of messages) {
    const read = readMessage(message)
    if (read === null) {
      said.push({ kind: 'unread', value: message })
      continue
    }
    const left = read.results.filter((result) => !fold(result, calls))
    for (const call of read.talk.calls) if (call.id) calls.set(call.id, call)
    const folded = read.results.length > 0 && left.length === 0 && isBare(read.talk)
    if (!folded) add(said, withResults(read.talk, left))
  }
  return said
}

/** What came back from a tool, and which call it answers. */
interface Result {
  id: string
  value: unknown
}

interface Read {
  talk: Talk
  results: Result[]
}

/** Give a result to its call; false where no call waits for it. */
function fold({ id, value }: Result, calls: ReadonlyMap<string, ToolUse>): boolean {
  const call = calls.get(id)
  if (call === undefined || call.result !== undefined) return false
  call.result = value ?? ''
  return true
}

function isBare({ parts, calls, reasoning }: Talk): boolean {
  return parts.length === 0 && calls.length === 0 && !reasoning
}

function withResults(talk: Talk, left: readonly Result[]): Talk {
  if (left.length === 0) return talk
  const parts: Part[] = left.map(({ value }) =>
    typeof value === 'string' ? { kind: 'text', text: value } : { kind: 'other', value },
  )
  return { ...talk, parts: [...talk.parts, ...parts], answers: talk.answers ?? (left[0]?.id || undefined) }
}

/** Items of one turn (reasoning, words, calls, in this order) make one message of the assistant. */
function add(said: Said[], talk: Talk): void {
  const last = said.at(-1)
  const open = last?.kind === 'talk' && isItem(last.talk) ? last.talk : null
  if (open === null || !isItem(talk)) {
    said.push({ kind: 'talk', talk })
    return
  }
  const words = talk.parts.length > 0 || Boolean(talk.reasoning)
  if (words && (open.parts.length > 0 || open.calls.length > 0)) {
    said.push({ kind: 'talk', talk })
    return
  }
  open.parts.push(...talk.parts)
  open.calls.push(...talk.calls)
  if (talk.reasoning) open.reasoning = open.reasoning ? `${open.reasoning}\n\n${talk.reasoning}` : talk.reasoning
}

/** Talks that were read from single items of Responses. */
const items = new WeakSet<Talk>()

function isItem(talk: Talk): boolean {
  return items.has(talk)
}

function item(talk: Talk): Talk {
  items.add(talk)
  return talk
}

function readMessage(message: unknown): Read | null {
  if (!isObject(message)) return null
  return readItem(message) ?? readBlocks(message) ?? readLangChain(message) ?? readChat(message)
}

/** An item of the Responses interface. */
function readItem(message: Json): Read | null {
  const blank = { role: 'assistant', parts: [], calls: [] }
  if (message.type === 'function_call' && typeof message.name === 'string') {
    const call = toolCallOf({ id: message.call_id, name: message.name, arguments: message.arguments ?? '' })
    return call && { talk: item({ ...blank, calls: [call] }), results: [] }
  }
  if (message.type === 'function_call_output') {
    const value = textOfParts(message.output) ?? message.output
    return { talk: { role: 'tool', parts: [], calls: [] }, results: [{ id: textIn(message, 'call_id'), value }] }
  }
  if (message.type === 'reasoning') {
    const reasoning = [textOfParts(message.summary), textOfParts(message.content)].filter(Boolean).join('\n\n')
    return { talk: item({ ...blank, reasoning: reasoning || 'hidden by the provider' }), results: [] }
  }
  if (message.type !== 'message') return null
  const talk = talkOf(message)
  return talk && { talk: talk.role === 'assistant' ? item(talk) : talk, results: [] }
}

/** A message of which content is made of blocks: words, reasoning, uses of tools and their results. */
function readBlocks(message: Json): Read | null {
  if (typeof message.role !== 'string' || !Array.isArray(message.content)) return null
  const blocks = message.content.filter(isObject)
  if (blocks.length !== message.content.length || !blocks.some(isBlock)) return null
  const read: Read = { talk: { role: message.role, parts: [], calls: [] }, results: [] }
  for (const block of blocks) takeBlock(read, block)
  if (read.results.length > 0 && isBare(read.talk)) read.talk.role = 'tool'
  return read
}

const BLOCKS = ['toolUse', 'toolResult', 'reasoningContent'] as const
const TYPES = ['tool_use', 'tool_result', 'thinking', 'redacted_thinking'] as const

function isBlock(block: Json): boolean {
  return BLOCKS.some((name) => isObject(block[name])) || TYPES.some((type) => block.type === type)
}

function takeBlock({ talk, results }: Read, block: Json): void {
  const use = isObject(block.toolUse) ? block.toolUse : block.type === 'tool_use' ? block : null
  const result = isObject(block.toolResult) ? block.toolResult : block.type === 'tool_result' ? block : null
  const thought = thoughtIn(block)
  if (use !== null) {
    const id = textIn(use, 'toolUseId') || textIn(use, 'id')
    talk.calls.push({ id, name: textIn(use, 'name') || 'tool', arguments: use.input ?? {} })
  } else if (result !== null) {
    const id = textIn(result, 'toolUseId') || textIn(result, 'tool_use_id')
    results.push({ id, value: textOfParts(result.content) ?? result.content })
  } else if (thought !== null) {
    talk.reasoning = talk.reasoning ? `${talk.reasoning}\n\n${thought}` : thought
  } else {
    talk.parts.push(...(talkOf({ role: talk.role, content: [block] })?.parts ?? []))
  }
}

function thoughtIn(block: Json): string | null {
  if (block.type === 'thinking') return textIn(block, 'thinking')
  if (block.type === 'redacted_thinking') return 'hidden by the provider'
  if (!isObject(block.reasoningContent)) return null
  const { reasoningText } = block.reasoningContent
  return isObject(reasoningText) ? textIn(reasoningText, 'text') : 'hidden by the provider'
}

/** A message of LangChain: a type in place of the role, calls with `args`. */
function readLangChain(message: Json): Read | null {
  const type = textIn(message, 'type')
  if (message.role !== undefined || !['human', 'ai', 'system', 'tool', 'function'].includes(type)) return null
  const calls = Array.isArray(message.tool_calls) ? message.tool_calls.filter(isObject) : []
  return readChat({
    role: ROLES[type] ?? type,
    content: message.content,
    tool_call_id: message.tool_call_id,
    tool_calls: calls.map(({ id, name, args }) => ({ id, name, arguments: args ?? {} })),
  })
}

/** A message of chat completions. */
function readChat(message: Json): Read | null {
  const { reasoning_content: thought } = message
  const talk = talkOf(typeof thought === 'string' && thought ? { reasoning: thought, ...message } : message)
  if (talk === null) return null
  talk.role = ROLES[talk.role] ?? talk.role
  if (talk.role !== 'tool' || !talk.answers) return { talk, results: [] }
  const value = textOfParts(message.content) ?? message.content
  return { talk: { ...talk, parts: [] }, results: [{ id: talk.answers, value }] }
}

/** The text of a text or of a list of texts; JSON in it is kept as such. Null for anything else. */
function textOfParts(content: unknown): string | null {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return null
  const texts = content.map((part) => (isObject(part) ? part.text : part))
  if (texts.every((text) => typeof text === 'string')) return texts.join('\n')
  const only: unknown = content.length === 1 ? content[0] : null
  return isObject(only) && only.json !== undefined ? JSON.stringify(only.json) : null
}

/** The messages in what a sample left, or in text that holds it as JSON; null where there are none. */
export function messagesIn(data: unknown): unknown[] | null {
  const found = typeof data === 'string' ? parsedJson(data) : data
  return isObject(found) && Array.isArray(found.messages) ? found.messages : null
}

/** The messages that a sample begins with, in what its row shows; null where there are none. */
export function promptIn(data: unknown): unknown[] | null {
  return isObject(data) && Array.isArray(data.prompt) && data.prompt.length > 0 ? data.prompt : null
}

function textIn(object: Json, name: string): string {
  const value = object[name]
  return typeof value === 'string' ? value : ''
}

function isObject(value: unknown): value is Json {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}
