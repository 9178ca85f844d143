import { expect, it } from 'vitest'
import { gist } from './gist'

const URL = 'http://127.0.0.1:46417/step'

it.each([
  [
    `POST ${URL} after 0.01 s: status 500: Env.step() failed: ZeroDivisionError`,
    'Env.step() failed: ZeroDivisionError',
  ],
  [`POST ${URL}: status 500: broken`, 'broken'],
  [`GET ${URL} after 30 s: no answer in time`, 'no answer in time'],
  ['not one of up, down', 'not one of up, down'],
  ['status 500: is how this text begins', 'status 500: is how this text begins'],
  [`POST ${URL} after 1 s: `, `POST ${URL} after 1 s: `],
])('begins with what happened: %s', (message, words) => {
  expect(gist(message)).toBe(words)
})

it('is short', () => {
  expect(gist('x'.repeat(10_000))).toHaveLength(300)
})
