import { expect, test } from 'vitest'
import { causeWords, verdict } from './cause'

test('causes are told in words, short and long', () => {
  const { name, title, meaning } = causeWords('environment_error')
  expect([name, title]).toEqual(['Environment error', 'The environment crashed'])
  expect(meaning).not.toBe('')
})

test.each(['cosmic_ray', 'constructor'])('a cause that is not known is told by its name: %s', (cause) => {
  const { name, title, meaning } = causeWords(cause)
  expect(name.toLowerCase()).toBe(cause.replace('_', ' '))
  expect([title, meaning]).toEqual([name, ''])
})

test('a missing score is never told as zero', () => {
  expect(verdict(false)).toContain('missing, not zero')
  expect(verdict(true)).toContain('worst')
})
