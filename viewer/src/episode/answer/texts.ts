/** What a task asks and what was answered, as text; the server makes the lines of lists in the same way. */

import { isObject } from '../../renderers/talk'

const ASKING = ['question', 'prompt', 'problem', 'instruction', 'query', 'input', 'text', 'task', 'messages']

/** What a task asks: of a conversation its last user message, of a row its question. */
export function questionText(value: unknown): string {
  if (typeof value === 'string') return value
  if (isObject(value)) {
    if ('role' in value && 'content' in value) return contentText(value.content)
    const name = ASKING.find((key) => value[key] !== undefined && value[key] !== null && value[key] !== '')
    if (name !== undefined) return questionText(value[name])
    // A flat row can be read; what is nested is parameters rather than words.
    return Object.values(value).some((one) => typeof one === 'object' && one !== null) ? '' : JSON.stringify(value)
  }
  if (Array.isArray(value)) {
    const messages = value.filter((one) => isObject(one) && 'role' in one && 'content' in one)
    const asked = messages.filter((one) => isObject(one) && one.role === 'user')
    const last = (asked.length > 0 ? asked : messages).at(-1)
    return last === undefined ? '' : questionText(last)
  }
  return ''
}

/** An answer as text; empty where it is not one, as for calls. */
export function answerText(value: unknown): string {
  if (typeof value === 'string') return value
  return isObject(value) && typeof value.text === 'string' && isEmptyList(value.tool_calls) ? value.text : ''
}

function isEmptyList(value: unknown): boolean {
  return value === undefined || (Array.isArray(value) && value.length === 0)
}

function contentText(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content.map((part) => (isObject(part) && typeof part.text === 'string' ? part.text : '')).join(' ')
}
