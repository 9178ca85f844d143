/** Messages and tool calls, in the forms that models and environments write them. */

export interface ToolUse {
  id: string
  name: string
  /** The arguments, parsed when they were JSON in a string. */
  arguments: unknown
  /** What came back; undefined while or where nothing did. */
  result?: unknown
}

export interface Part {
  kind: 'text' | 'image' | 'other'
  text?: string
  image?: unknown
  type?: string
  value?: unknown
}

export interface Talk {
  role: string
  name?: string
  parts: Part[]
  reasoning?: string
  calls: ToolUse[]
  /** The call that this message answers. */
  answers?: string
}

const ROLES = new Set(['system', 'developer', 'user', 'assistant', 'tool', 'function', 'human', 'ai'])

/** Return a value as a message of a conversation; null if it is none. */
export function talkOf(data: unknown): Talk | null {
  if (!isObject(data) || typeof data.role !== 'string') return null
  if (data.content === undefined && !Array.isArray(data.tool_calls) && data.reasoning === undefined) return null
  return {
    role: data.role,
    name: typeof data.name === 'string' ? data.name : undefined,
    parts: partsOf(data.content),
    reasoning: typeof data.reasoning === 'string' && data.reasoning ? data.reasoning : undefined,
    calls: Array.isArray(data.tool_calls) ? data.tool_calls.map(toolCallOf).filter((call) => call !== null) : [],
    answers: typeof data.tool_call_id === 'string' && data.tool_call_id ? data.tool_call_id : undefined,
  }
}

/** Return a list of messages, or an object that holds one, as a conversation; null if it is none. */
export function chatOf(data: unknown): Talk[] | null {
  const list = Array.isArray(data)
    ? data
    : isObject(data) && Object.keys(data).length <= 3
      ? (data.messages ?? data.prompt)
      : null
  if (!Array.isArray(list) || !list.length || list.length > 2_000) return null
  const talks = list.map(talkOf)
  return talks.every((talk): talk is Talk => talk !== null && ROLES.has(talk.role.toLowerCase())) ? talks : null
}

/** Return a value as the call of a tool; null if it is none. */
export function toolCallOf(data: unknown): ToolUse | null {
  if (!isObject(data)) return null
  if (data.type === 'call_tool' && typeof data.tool_name === 'string') {
    return { id: '', name: data.tool_name, arguments: data.arguments ?? {} }
  }
  if (isObject(data.function)) return toolCallOf({ id: data.id, ...data.function, result: data.result })
  if (typeof data.name !== 'string' || !('arguments' in data || 'input' in data)) return null
  const given = 'arguments' in data ? data.arguments : data.input
  return {
    id: typeof data.id === 'string' ? data.id : '',
    name: data.name,
    arguments: parsed(given),
    result: data.result ?? data.output,
  }
}

/** Return the text of a message without its images. */
export function saidIn(talk: Talk): string {
  return talk.parts.map((part) => part.text ?? '').join('\n')
}

function partsOf(content: unknown): Part[] {
  if (typeof content === 'string') return content ? [{ kind: 'text', text: content }] : []
  if (!Array.isArray(content))
    return content === null || content === undefined ? [] : [{ kind: 'other', value: content }]
  return content.map(partOf)
}

function partOf(part: unknown): Part {
  if (typeof part === 'string') return { kind: 'text', text: part }
  if (!isObject(part)) return { kind: 'other', value: part }
  if (typeof part.text === 'string') return { kind: 'text', text: part.text }
  if (part.type === 'image' || part.type === 'image_url') {
    const inside = isObject(part.source) ? part.source : part
    const type = typeof inside.media_type === 'string' ? inside.media_type : 'image/png'
    const address = isObject(inside.image_url) ? inside.image_url.url : (inside.image_url ?? inside.url)
    return { kind: 'image', image: inside.data || address, type }
  }
  return { kind: 'other', value: part }
}

function parsed(value: unknown): unknown {
  if (typeof value !== 'string') return value
  try {
    return JSON.parse(value) as unknown
  } catch {
    return value
  }
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}
