import { expect, test } from 'vitest'
import { CAUSES } from './api/words'
import { causeWords, failureEffect } from './cause'

test.each(Object.keys(CAUSES))('the cause %s has words', (cause) => {
  const { name, title, advice } = causeWords(cause)
  for (const words of [name, title, advice]) expect(words).not.toBe('')
  expect(title).not.toContain('_')
})

test.each(['cosmic_ray', 'constructor'])('an unknown cause is shown by its code: %s', (cause) => {
  const { name, title, advice } = causeWords(cause)
  expect(name.toLowerCase()).toBe(cause.replace('_', ' '))
  expect([title, advice]).toEqual([name, ''])
})

test('a missing score is never called zero', () => {
  expect(failureEffect(false)).toContain('missing, not zero')
  expect(failureEffect(true)).toContain('worst')
})
