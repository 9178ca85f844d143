import { expect, test } from 'vitest'
import type { EventDocument } from './events'
import { frameOf } from './frame'

let seq = 0
function event(step: number, kind: string, payload: unknown): EventDocument {
  return { seq: seq++, step, at: 0, kind, payload: payload as EventDocument['payload'] }
}

const EVENTS = [
  event(1, 'action', { action: 'left' }),
  event(1, 'observation', { data: 'seen before' }),
  event(2, 'model_call', { text: 'right', reasoning: 'because' }),
  event(2, 'tool_call', { id: '1', name: 'look', arguments: {} }),
  event(2, 'action', { action: 'right', role: 'white' }),
  event(2, 'step_result', { reward: 0.5, terminated: true }),
  event(2, 'observation', { data: 'seen after' }),
  event(3, 'action', { action: 'too late' }),
]

test('a frame is what was seen, done and seen then, of one step only', () => {
  expect(frameOf(EVENTS, 2)).toMatchObject({
    step: 2,
    before: { data: 'seen before' },
    actions: [{ action: 'right', role: 'white' }],
    reasoning: 'because',
    tools: [{ name: 'look' }],
    after: { data: 'seen after' },
    reward: 0.5,
    over: true,
    failure: null,
  })
})

test('the frame before the first action shows how it begins', () => {
  const frame = frameOf([event(0, 'observation', { data: 'start' }), event(1, 'action', { action: 'x' })], 0)
  expect(frame).toMatchObject({ after: { data: 'start' }, actions: [], reward: null })
})

test('a step that broke off shows why', () => {
  const frame = frameOf([event(4, 'error', { cause: 'environment_error', message: 'boom' })], 4)
  expect(frame).toMatchObject({ after: null, failure: { cause: 'environment_error', message: 'boom' } })
})
