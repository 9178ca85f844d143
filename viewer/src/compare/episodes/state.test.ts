import { expect, test } from 'vitest'
import type { EventDocument } from '../../episode/events'
import { actionText, fieldsOf } from './state'
import { callFrame } from './useMove'

test('states are compared field by field, nested ones by their path', () => {
  const found = fieldsOf(
    { turns: 3, letters: { known: 'a_' }, board: ['ab', 'c'] },
    { turns: 3, letters: { known: 'b_' } },
  )
  expect(found?.map(({ name, a, b, same }) => [name, a, b, same])).toEqual([
    ['turns', '3', '3', true],
    ['letters.known', 'a_', 'b_', false],
    ['board', 'ab\nc', undefined, false],
  ])
})

test('what is no object of fields is not taken apart', () => {
  expect(fieldsOf('text', { a: 1 })).toBeNull()
  expect(fieldsOf([1, 2], [1, 3])).toBeNull()
  expect(fieldsOf({ $blob: 'sha-0123456789', bytes: 9 }, { a: 1 })).toBeNull()
})

test('calls are read in the forms that models write them in', () => {
  expect(actionText({ text: 'So', tool_calls: [{ name: 'look', arguments: { x: 1 } }] })).toBe('So\nlook(x=1)')
  expect(actionText('{"tool": "find", "arguments": {"pattern": "s..te"}}')).toBe('find(pattern="s..te")')
  expect(actionText('[{"air":{"city":"Rome"}},{"sum":"{\\"n\\": 2}"}]')).toBe('air(city="Rome")\nsum(n=2)')
  expect(actionText('{broken')).toBe('{broken')
  expect(actionText('3 + 4 = <<3+4=7>>7')).toBe('3 + 4 = 7')
})

test('a call of a program is its reply, and what its tools returned', () => {
  const events = [
    { kind: 'model_call', payload: { text: '', tool_calls: [{ name: 'look', arguments: {} }] } },
    { kind: 'message', payload: { role: 'tool', content: '38' } },
    { kind: 'step_result', payload: { reward: 1 } },
  ].map((event, seq) => ({ ...event, seq, step: 1, at: 0 })) as EventDocument[]
  const frame = callFrame(events, { number: 1, step: 1, first_event: 0, events: 3, action: '', reward: 1, failure: '' })
  expect(actionText(frame.actions[0]?.action)).toBe('look()')
  expect([frame.after?.data, frame.reward]).toEqual(['38', 1])
})
