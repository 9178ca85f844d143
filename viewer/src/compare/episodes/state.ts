/** What two episodes showed at a step, field by field. */

import { withoutMarks } from '../../episode/answer/calculations'
import { callsIn } from '../../episode/answer/calls'
import { parsedJson, referenceOf, viewsOf } from '../../renderers/content'
import { gridOf } from '../../renderers/grid'
import { isObject, toolCallOf } from '../../renderers/talk'

/** A field of both states, as text and as it was recorded; undefined where a state has none. */
export interface Field {
  name: string
  a: string | undefined
  b: string | undefined
  values: { a: unknown; b: unknown }
  same: boolean
}

/** Fields that are compared one by one. */
const MOST_FIELDS = 60

/** The fields of two objects as text, nested ones by their path; null for anything that is not an object of a few. */
export function fieldsOf(a: unknown, b: unknown): Field[] | null {
  if (!isPlain(a) || !isPlain(b)) return null
  const [left, right] = [flat(a), flat(b)]
  const names = [...new Set([...left.keys(), ...right.keys()])]
  if (names.length > MOST_FIELDS) return null
  return names.map((name) => {
    const values = { a: left.get(name), b: right.get(name) }
    const [x, y] = [left.has(name) ? asText(values.a) : undefined, right.has(name) ? asText(values.b) : undefined]
    return { name, a: x, b: y, values, same: x === y }
  })
}

/** Whether a value of a field is a board. */
export function isBoard(value: unknown): boolean {
  return Array.isArray(value) && gridOf(value) !== null
}

function isPlain(value: unknown): value is Record<string, unknown> {
  if (!isObject(value) || Array.isArray(value) || referenceOf(value) !== null) return false
  const view = viewsOf({ data: value, type: '' })[0]
  return view === 'json' || (view === 'board' && gridOf(value) === null)
}

function flat(value: Record<string, unknown>, before = ''): Map<string, unknown> {
  const found = new Map<string, unknown>()
  for (const [name, item] of Object.entries(value)) {
    const path = before === '' ? name : `${before}.${name}`
    if (isObject(item) && !Array.isArray(item) && before === '')
      for (const [key, text] of flat(item, path)) found.set(key, text)
    else found.set(path, item)
  }
  return found
}

function asText(value: unknown): string {
  if (typeof value === 'string') return value
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value.join('\n')
  return JSON.stringify(value) ?? ''
}

/** An action as text that can be compared: what was said, and calls as `name(argument=value)`. */
export function actionText(action: unknown): string {
  if (action === null || action === undefined) return ''
  const given = typeof action === 'string' ? (parsedJson(action) ?? action) : action
  if (isObject(given)) {
    const calls = callsIn(given)
    if (calls !== null) {
      const said = typeof given.text === 'string' ? actionText(given.text) : ''
      return [said, ...calls.map(({ name, arguments: args }) => callText(name, args))].filter(Boolean).join('\n')
    }
    const call = toolCallOf(given) ?? loose(given)
    if (call !== null) return callText(call.name, call.arguments)
  }
  const listed = Array.isArray(given) ? given.map(named) : []
  if (listed.length > 0 && listed.every((call) => call !== null)) return listed.join('\n')
  if (typeof given === 'string') return given.includes('<<') ? withoutMarks(given) : given
  return typeof action === 'string' ? action : JSON.stringify(action)
}

/** The call in an object with the name of a tool, as environments without a protocol of their own take it. */
function loose(value: Record<string, unknown>): { name: string; arguments: unknown } | null {
  const { tool, arguments: args } = value
  return typeof tool === 'string' && isObject(args) ? { name: tool, arguments: args } : null
}

/** A call in a list as some models write them: `{"name": {"argument": value}}`, the arguments also as JSON in a text. */
function named(value: unknown): string | null {
  const [name, ...others] = isObject(value) ? Object.keys(value) : []
  if (!isObject(value) || name === undefined || others.length > 0) return null
  const given = value[name]
  const args = typeof given === 'string' ? parsedJson(given) : given
  return isObject(args) ? callText(name, args) : null
}

function callText(name: string, args: unknown): string {
  if (!isObject(args)) return `${name}(${args === undefined ? '' : String(args)})`
  return `${name}(${Object.entries(args)
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .join(', ')})`
}
