import { expect, test } from 'vitest'
import type { Schema } from '../api/types'
import { paired } from './against'

function step(number: number, action: string): Schema<'StepSummary'> {
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

test('steps of a site are held against those with the same number', () => {
  const found = paired([step(0, ''), step(1, 'left'), step(2, 'up')], [step(0, ''), step(1, 'left'), step(2, 'down')])
  expect(found.map(({ change }) => change)).toEqual(['same', 'same', 'action'])
})

test('an episode that goes on when the other has ended has steps alone', () => {
  const last = paired([step(0, ''), step(1, 'x')], [step(0, '')]).at(-1)
  expect(last).toMatchObject({ a: { number: 1 }, b: null, change: 'only_a' })
})
