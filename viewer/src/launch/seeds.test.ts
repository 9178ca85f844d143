import { expect, it } from 'vitest'
import { readSeeds } from './seeds'

it('reads numbers and ranges', () => {
  expect(readSeeds('0, 3 10-12;-4')).toEqual([0, 3, 10, 11, 12, -4])
  expect(readSeeds('5..6')).toEqual([5, 6])
  expect(readSeeds('  ')).toBeNull()
})

it.each([
  ['one', 'not a whole number'],
  ['1.5', 'not a whole number'],
  ['9-3', 'not a valid range'],
  ['0-100000', 'not a valid range'],
  ['1, 1', 'twice'],
  ['99999999999999999999', 'not a whole number'],
])('refuses %s', (text, words) => {
  expect(() => readSeeds(text)).toThrow(words)
})
