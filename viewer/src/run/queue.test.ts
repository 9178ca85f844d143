import { expect, test } from 'vitest'
import { placeWords } from './queue'

test('the place of a run is told in words', () => {
  expect(placeWords({ waiting: true, position: 1, length: 4 })).toContain('next in the queue')
  expect(placeWords({ waiting: true, position: 3, length: 4 })).toBe('third in the queue')
  expect(placeWords({ waiting: true, position: 23, length: 40 })).toBe('number 23 in the queue')
})

test('what has left the queue is starting, what is not known is in it', () => {
  expect(placeWords({ waiting: false, position: null, length: 0 })).toBe('starting')
  expect(placeWords(undefined)).toBe('in the queue')
})
