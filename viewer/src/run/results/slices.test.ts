import { expect, it } from 'vitest'
import { slice } from './examples'
import { nextSliceSort, rewardScale, sortedSlices } from './slices'

const part = (value: number | null) => ({ value, low: null, high: null, weak: false, n: 1 })
const SLICES = [
  slice({ value: 'level 10', reward: part(0.2), episodes: 3 }),
  slice({ value: null, reward: part(0.9), episodes: 1 }),
  slice({ value: 'level 9', reward: part(null), episodes: 7 }),
]

const values = (sort: Parameters<typeof sortedSlices>[1]) => sortedSlices(SLICES, sort).map(({ value }) => value)

it('values are sorted as people count, those without one last', () => {
  expect(values('value')).toEqual(['level 9', 'level 10', null])
  expect(values('-value')).toEqual(['level 10', 'level 9', null])
})

it('numbers are sorted both ways, what has none is last', () => {
  expect(values('-reward')).toEqual([null, 'level 10', 'level 9'])
  expect(values('reward')).toEqual(['level 10', null, 'level 9'])
  expect(values('-episodes')).toEqual(['level 9', 'level 10', null])
})

it('a press sorts numbers from the biggest and words from A, the next one the other way', () => {
  expect(nextSliceSort('value', 'reward')).toBe('-reward')
  expect(nextSliceSort('-reward', 'reward')).toBe('reward')
  expect(nextSliceSort('-reward', 'value')).toBe('value')
  expect(nextSliceSort('value', 'value')).toBe('-value')
})

it('the scale holds all intervals', () => {
  expect(rewardScale(SLICES)).toEqual([0, 1])
  expect(rewardScale([slice({ reward: { value: -2, low: -3, high: 4, weak: false, n: 2 } })])).toEqual([-3, 4])
})
