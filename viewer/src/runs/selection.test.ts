import { expect, it } from 'vitest'
import { extended, toggledAll, toggledRun } from './selection'

it('selects and unselects one run', () => {
  expect(toggledRun(['a'], 'b')).toEqual(['a', 'b'])
  expect(toggledRun(['a', 'b'], 'a')).toEqual(['b'])
})

it('selects everything between two rows in either direction', () => {
  const ids = ['a', 'b', 'c', 'd']
  expect(extended(['a'], ids, 'a', 'c')).toEqual(['a', 'b', 'c'])
  expect(extended(['d'], ids, 'd', 'b')).toEqual(['d', 'b', 'c'])
})

it('selects one row when the row to begin at is no longer there', () => {
  expect(extended([], ['a', 'b'], 'gone', 'b')).toEqual(['b'])
  expect(extended(['x'], ['a', 'b'], 'a', 'gone')).toEqual(['x'])
})

it('selects all, or none of them when all were selected', () => {
  expect(toggledAll(['x', 'a'], ['a', 'b'])).toEqual(['x', 'a', 'b'])
  expect(toggledAll(['x', 'a', 'b'], ['a', 'b'])).toEqual(['x'])
  expect(toggledAll(['x'], [])).toEqual(['x'])
})
