import { expect, test } from 'vitest'
import { listOf, listQuery, readEpisodeSearch } from './search'

test('an address that nobody wrote by hand is read back', () => {
  expect(readEpisodeSearch({ step: '12', q: 'key', kind: ['error', 'retry'], view: 'replay', call: '7' })).toEqual({
    step: 12,
    q: 'key',
    kind: ['error', 'retry'],
    view: 'replay',
    call: 7,
  })
})

test('nonsense is left out', () => {
  expect(readEpisodeSearch({ step: '-1', kind: 'nonsense', view: 'film', call: 'x', low: 'many' })).toEqual({})
})

test('the list behind the episode goes along, with its text kept apart from what is searched inside', () => {
  const search = { state: ['failed'], sort: '-steps', listq: 'KeyError' }
  expect(listQuery({ ...search, q: 'inside', step: 3 })).toEqual({ state: ['failed'], sort: '-steps', q: 'KeyError' })
  expect(listOf({ ...search, view: 'replay' })).toEqual(search)
})
