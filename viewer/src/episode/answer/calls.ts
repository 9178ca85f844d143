/** Tool calls that were expected beside those that were made. */

import { isObject } from '../../renderers/talk'

export interface Call {
  name: string
  arguments: Record<string, unknown>
}

export interface Argument {
  name: string
  expected?: unknown
  given?: unknown
  state: 'same' | 'changed' | 'missing' | 'extra'
}

export interface CallPair {
  name: string
  state: 'same' | 'changed' | 'missing' | 'extra'
  arguments: Argument[]
}

/** The calls in an answer `{text, tool_calls}`; null if a value is no answer with calls. */
export function callsIn(value: unknown): Call[] | null {
  if (!isObject(value) || !Array.isArray(value.tool_calls)) return null
  return value.tool_calls.filter(isObject).map((call) => ({
    name: String(call.name ?? ''),
    arguments: isObject(call.arguments) ? call.arguments : { '(not an object)': call.arguments },
  }))
}

/** Calls matched first, those that agree most before others, then their arguments. */
export function matchedCalls(expected: readonly Call[], given: readonly Call[]): CallPair[] {
  const fits = expected
    .flatMap((wanted, of) => given.map((made, by) => ({ of, by, agreement: agreementOf(wanted, made) })))
    .filter(({ agreement }) => agreement > 0)
    .sort((one, other) => other.agreement - one.agreement)
  const partner = new Map<number, number>()
  const taken = new Set<number>()
  for (const { of, by } of fits) {
    if (partner.has(of) || taken.has(by)) continue
    partner.set(of, by)
    taken.add(by)
  }
  const pairs = expected.map((wanted, of): CallPair => {
    const made = given[partner.get(of) ?? -1]
    if (made === undefined) return pair(wanted.name, 'missing', argumentsOf(wanted.arguments, {}))
    const found = argumentsOf(wanted.arguments, made.arguments)
    return pair(wanted.name, found.every(({ state }) => state === 'same') ? 'same' : 'changed', found)
  })
  const extra = given.filter((_, by) => !taken.has(by))
  return [...pairs, ...extra.map((made) => pair(made.name, 'extra', argumentsOf({}, made.arguments)))]
}

function pair(name: string, state: CallPair['state'], args: Argument[]): CallPair {
  return { name, state, arguments: args }
}

/** How well a call fits: only calls of the same function do, and names that differ in dots and underscores are one. */
function agreementOf(wanted: Call, made: Call): number {
  if (plainName(wanted.name) !== plainName(made.name)) return 0
  const same = Object.entries(wanted.arguments).filter(([name, value]) => equal(value, made.arguments[name]))
  return 1 + same.length
}

function plainName(name: string): string {
  return name.replaceAll('.', '_')
}

function argumentsOf(expected: Record<string, unknown>, given: Record<string, unknown>): Argument[] {
  const names = [...new Set([...Object.keys(expected), ...Object.keys(given)])]
  return names.map((name) => {
    if (!(name in given)) return { name, expected: expected[name], state: 'missing' }
    if (!(name in expected)) return { name, given: given[name], state: 'extra' }
    const state = equal(expected[name], given[name]) ? 'same' : 'changed'
    return { name, expected: expected[name], given: given[name], state }
  })
}

function equal(one: unknown, other: unknown): boolean {
  return one === other || written(one) === written(other)
}

/** A value as JSON with sorted keys. */
export function written(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    isObject(inner) ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1))) : inner,
  )
}
