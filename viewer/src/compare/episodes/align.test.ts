import { expect, test } from 'vitest'
import { aligned, firstDifference, type Summary } from './align'

function step(number: number, action: string): Summary {
  return {
    step: number,
    action,
    first_event: 0,
    events: 1,
    reward: null,
    tokens: 0,
    latency_s: null,
    errors: 0,
    warnings: 0,
    retries: 0,
  }
}

test('the first step with another action is where they part ways', () => {
  const pairs = aligned([step(0, ''), step(1, 'left'), step(2, 'up')], [step(0, ''), step(1, 'left'), step(2, 'down')])
  expect(pairs.map((pair) => pair.differs)).toEqual([false, false, true])
  expect(firstDifference(pairs)).toBe(2)
})

test('an episode that goes on when the other has ended differs there', () => {
  const pairs = aligned([step(0, ''), step(1, 'x')], [step(0, '')])
  expect(pairs.at(-1)).toMatchObject({ step: 1, b: null, differs: true })
})

test('the same episode never differs', () => {
  const steps = [step(0, ''), step(1, 'x')]
  expect(firstDifference(aligned(steps, steps))).toBeNull()
})
