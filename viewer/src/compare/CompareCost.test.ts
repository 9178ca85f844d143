import { expect, test } from 'vitest'
import { counts, usage } from '../run/examples'
import { costPoints } from './CompareCost'

test('only runs with a score and a known cost are points, by the cost of an episode', () => {
  const scores = [{ value: 0.5 }, { value: 0.6 }, { value: null }].map((score) => score as never)
  const runs = [
    { id: 'a', usage: usage({ cost_usd: 2 }), counts: counts({ done: 4 }) },
    { id: 'b', usage: usage({ cost_usd: null }), counts: counts({ done: 4 }) },
    { id: 'c', usage: usage({ cost_usd: 1 }), counts: counts({ done: 4 }) },
  ]
  expect(costPoints({ runs: ['a', 'b', 'c'], scores }, runs, new Map())).toEqual([{ x: 0.5, y: 0.5, label: 'a' }])
})
