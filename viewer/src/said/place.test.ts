import { expect, test } from 'vitest'
import { placeOf, within, wordsOf } from './place'

test('a place is set, changed and taken away', () => {
  expect(within('"per week" -month', 'reply')).toBe('"per week" -month in:reply')
  expect(within('in:reply "per week"', 'question')).toBe('"per week" in:question')
  expect(within('"per week" in:reply', undefined)).toBe('"per week"')
})

test('only one known place is the chosen one', () => {
  expect(placeOf('week in:reply')).toBe('reply')
  expect(placeOf('week')).toBeUndefined()
  expect(placeOf('week in:reply in:action')).toBeUndefined()
  expect(placeOf('week in:toString')).toBeUndefined()
})

test('what is looked for in an episode is what can stand there', () => {
  expect(wordsOf('-month in:reply "per week" other')).toBe('per week')
  expect(wordsOf('refus* in:reply')).toBe('refus')
  expect(wordsOf('-"not this" well-known')).toBe('well-known')
  expect(wordsOf('tool:search')).toBe('')
})
