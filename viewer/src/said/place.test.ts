import { expect, test } from 'vitest'
import { placeOf, within } from './place'

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
