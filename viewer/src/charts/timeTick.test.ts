import { expect, it } from 'vitest'
import { timeTick } from './timeTick'

it.each([
  [new Date(2026, 10, 21, 14, 1), '14:01'],
  [new Date(2026, 10, 21, 14, 1, 5), '14:01:05'],
  [new Date(2026, 10, 21, 14, 1, 5, 20), '.020'],
  [new Date(2026, 10, 21), '21 Nov'],
  [new Date(2026, 10, 1), 'November'],
  [new Date(2026, 0, 1), '2026'],
])('a tick tells the time of the day by 24 hours, and whole days by their date', (time, words) => {
  expect(timeTick(time)).toBe(words)
})
