import { describe, expect, it } from 'vitest'
import { counts, metric } from './examples'
import { isPassFail, joinedBins, outcomeBars, pointWords, soFar, timeLayers, worstOfAll } from './series'

const pass = { low: 0, high: 1, counts: [28, 0, 0, 35], worst: 37, missing: 0 }

describe('isPassFail', () => {
  it('tells marks from grades', () => {
    expect(isPassFail(pass)).toBe(true)
    expect(isPassFail({ ...pass, counts: [28, 1, 0, 35] })).toBe(false)
    expect(isPassFail({ ...pass, low: -1 })).toBe(false)
  })
})

describe('outcomeBars', () => {
  it('leads from every outcome to its episodes', () => {
    expect(outcomeBars(pass).map(({ label, count, filter }) => [label, count, filter])).toEqual([
      ['Passed', 35, { outcome: 'pass' }],
      ['Not passed', 28, { low: 0, high: 0 }],
      ['Counted as worst', 37, { outcome: 'worst' }],
    ])
  })

  it('are only those without a value for grades', () => {
    const bars = outcomeBars({ ...pass, counts: [1, 2, 3], worst: 0, missing: 4 })
    expect(bars.map(({ label }) => label)).toEqual(['Missing score'])
  })
})

describe('pointWords', () => {
  const bins = (amount: number) =>
    Array.from({ length: amount }, (_, place) => ({ first: place, last: place, n: 1, mean: 1, failed: 0 }))

  it('say what a point of the line along the plan averages', () => {
    expect(pointWords(bins(100))).toBe('mean of 5 episodes per point')
    expect(pointWords(bins(12))).toBe('one episode per point')
  })
})

describe('joinedBins', () => {
  const bin = (first: number, mean: number | null, n = 1, failed = 0) => ({
    first,
    last: first + n - 1,
    n,
    mean,
    failed,
  })

  it('joins neighbours by how many were scored', () => {
    const [one] = joinedBins([bin(0, 1, 3), bin(3, 0, 2, 1)], null, 1)
    expect(one).toEqual({ at: 2, value: 0.75, label: 'episodes 0 to 4, 1 failed' })
  })

  it('counts failures as worst where that is known', () => {
    expect(joinedBins([bin(0, 1, 4, 1)], 0)[0]?.value).toBe(0.75)
    expect(joinedBins([bin(0, null, 1, 1)], -1)[0]?.value).toBe(-1)
  })

  it('leaves a gap where nothing was scored', () => {
    expect(joinedBins([bin(0, null), bin(1, 0.5)], null).map(({ value }) => value)).toEqual([null, 0.5])
  })

  it('makes no more bins than can be told apart', () => {
    const many = Array.from({ length: 100 }, (_, place) => bin(place, 1))
    expect(joinedBins(many, null)).toHaveLength(20)
    expect(joinedBins([], null)).toEqual([])
  })
})

describe('soFar', () => {
  it('counts episodes from one and keeps the band', () => {
    const bin = soFar({ last: 99, n: 75, value: 0.5, low: 0.4, high: null, weak: false })
    expect(bin).toEqual({ at: 100, value: 0.5, low: 0.4, high: null, label: 'first 100, n = 75' })
  })
})

describe('worstOfAll', () => {
  it('is known when every failure counts', () => {
    const primary = metric({ n_worst: 3, worst_value: 0 })
    expect(worstOfAll({ primary, counts: counts({ failed: 3 }) })).toBe(0)
    expect(worstOfAll({ primary, counts: counts({ failed: 4 }) })).toBe(null)
  })
})

describe('timeLayers', () => {
  const second = (at: string, cost_usd: number | null) => ({
    at,
    seconds: 2,
    episodes: 3,
    failed: 1,
    tokens: 10,
    cost_usd,
  })

  it('joins what lies close together', () => {
    const layers = timeLayers([second('a', 1), second('b', 2), second('c', 4)], 2)
    expect(layers).toEqual({
      at: ['a', 'c'],
      seconds: 4,
      ordinary: [4, 2],
      failed: [2, 1],
      tokens: [20, 10],
      cost: [3, 4],
      unpriced: false,
    })
  })

  it('says that at least; some prices are unknown', () => {
    expect(timeLayers([second('a', null)]).unpriced).toBe(true)
  })
})
