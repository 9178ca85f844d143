import { expect, test } from 'vitest'
import { Heights } from './chunks'

test('places are sums of what was measured and of guesses', () => {
  const heights = new Heights(4, 100)
  heights.set(1, 300)
  expect([0, 1, 2, 3, 4].map((chunk) => heights.start(chunk))).toEqual([0, 100, 400, 500, 600])
})

test('the chunk at a distance is the one that covers it', () => {
  const heights = new Heights(4, 100)
  heights.set(1, 300)
  expect([0, 99, 100, 399, 400, 10_000, -5].map((distance) => heights.at(distance))).toEqual([0, 0, 1, 1, 2, 3, 0])
})

test('the same measurement again is no news', () => {
  const heights = new Heights(2)
  expect(heights.set(0, 50)).toBe(true)
  expect(heights.set(0, 50.2)).toBe(false)
})

test('a list that grows keeps what was measured, but for its last chunk', () => {
  const heights = new Heights(2, 100)
  heights.set(0, 10)
  heights.set(1, 20)
  const grown = heights.resized(3)
  expect(grown.start(1)).toBe(10)
  expect(grown.start(2)).toBe(110)
})

test('the longest list is no taller than browsers can show', () => {
  expect(new Heights(40_000).start(40_000)).toBeLessThanOrEqual(15_000_001)
})
