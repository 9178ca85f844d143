import { expect, test } from 'vitest'
import type { Schema } from '../api/types'
import { changeWords, fieldChanges, messageChanges } from './callChange'

const SYSTEM = { index: 0, role: 'system', content: 'Play.' }
const FIRST = { index: 1, role: 'user', content: 'board 1' }
const REPLY = { index: 3, role: 'assistant', content: 'irate' }
const SECOND = { index: 4, role: 'user', content: 'board 2' }

test('messages that were appended are shown alone', () => {
  expect(messageChanges([SYSTEM, FIRST], [SYSTEM, FIRST, REPLY, SECOND])).toEqual([
    { kind: 'same', count: 2 },
    { kind: 'added', message: REPLY },
    { kind: 'added', message: SECOND },
  ])
})

test('the same words at another place of the record are the same message', () => {
  expect(messageChanges([SYSTEM], [{ ...SYSTEM, index: 9 }])).toEqual([{ kind: 'same', count: 1 }])
})

test('a message in the place of one with its role was changed', () => {
  const other = { index: 2, role: 'system', content: 'Play well.' }
  expect(messageChanges([SYSTEM, FIRST], [other, FIRST, REPLY])).toEqual([
    { kind: 'changed', message: other, before: SYSTEM },
    { kind: 'same', count: 1 },
    { kind: 'added', message: REPLY },
  ])
})

test('messages that fell out of a window are told', () => {
  expect(messageChanges([SYSTEM, FIRST, REPLY], [SYSTEM, SECOND]).map(({ kind }) => kind)).toEqual([
    'same',
    'changed',
    'removed',
  ])
})

function call(body: Record<string, unknown> | null): Schema<'CallDocument'> {
  return { wire: body === null ? null : { path: '/chat/completions', body, answer: '', curl: '', python: '' } } as never
}

test('parameters and tools that differ are told by their names', () => {
  const tool = (name: string) => ({ type: 'function', function: { name } })
  const before = call({ model: 'm', temperature: 0, messages: [1], tools: [tool('look'), tool('go')] })
  const after = call({ model: 'm', temperature: 1, messages: [1, 2], tools: [tool('look')], seed: 7 })
  expect(fieldChanges(before, after)?.map(({ name }) => name)).toEqual(['temperature', 'tool go', 'seed'])
  expect(fieldChanges(before, call(null))).toBeNull()
})

test('what changed is told in one line', () => {
  const messages = messageChanges([SYSTEM, FIRST], [SYSTEM, FIRST, REPLY, SECOND])
  expect(changeWords(messages, [{ name: 'seed', before: 1, after: 2 }])).toBe('2 messages added, 1 parameter changed.')
  expect(changeWords([{ kind: 'same', count: 3 }], [])).toBe('The same request.')
})
