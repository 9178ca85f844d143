import { expect, test } from 'vitest'
import { type EventDocument, lookBack, observed, opensStep, payloadOf, resultOf, spent } from './events'
import { windowsOf } from './useEvents'

function event(seq: number, kind: string, payload: unknown): EventDocument {
  return { seq, step: 1, at: 0, kind, payload: payload as EventDocument['payload'] }
}

test('a payload that is not an object is read as an empty one', () => {
  for (const payload of [null, 'text', [1], 3]) expect(payloadOf(event(0, 'log', payload))).toEqual({})
})

test('an observation without a type is JSON', () => {
  expect(observed(event(0, 'observation', { data: [1] }))).toEqual({
    data: [1],
    type: 'application/json',
    systemPrompt: '',
  })
})

test('tokens that were not recorded are none, a cost that was not is unknown', () => {
  expect(spent(event(0, 'model_call', {}))).toEqual({ prompt: 0, completion: 0, cost: null })
})

test('looking back ends where nothing is loaded', () => {
  const events = [event(0, 'observation', {}), undefined, event(2, 'log', {}), event(3, 'action', {})]
  const at = (place: number) => events[place]
  expect(lookBack(at, 3, (one) => one.kind === 'log')?.seq).toBe(2)
  expect(lookBack(at, 3, (one) => one.kind === 'observation')).toBeUndefined()
})

test('the result of a tool is the message that answers its call', () => {
  const events = [
    event(0, 'tool_call', { id: 'c1', name: 'f' }),
    event(1, 'message', { role: 'tool', tool_call_id: 'other', content: 'no' }),
    event(2, 'message', { role: 'tool', tool_call_id: 'c1', content: 'yes' }),
  ]
  expect(resultOf((place) => events[place], 0)).toBe('yes')
  expect(resultOf(() => event(0, 'tool_call', { name: 'f', result: 5 }), 0)).toBe(5)
  expect(resultOf((place) => events[place], 1)).toBeUndefined()
})

test('windows cover what is asked for and begin at multiples of their size', () => {
  expect(windowsOf(150, 450)).toEqual([0, 200, 400])
  expect(windowsOf(200, 400)).toEqual([200])
  expect(windowsOf(0, 0)).toEqual([])
})

test('a step begins once, whatever note of another step stands between', () => {
  const steps = [0, 0, 1, 0, 1, 1, 2]
  const events = steps.map((step, seq) => ({ ...event(seq, 'log', {}), step }))
  const opened = events.filter((one, row) => opensStep(row, one, (place) => events[place]))
  expect(opened.map(({ seq }) => seq)).toEqual([0, 2, 6])
})

test('it is not known whether a step begins where the event before is not loaded', () => {
  expect(opensStep(3, event(3, 'log', {}), () => undefined)).toBe(false)
})
