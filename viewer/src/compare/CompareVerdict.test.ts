import { describe, expect, it } from 'vitest'
import { pairFixture } from './ComparePairFixture'
import { basisWords, differenceDomain, domainOf, leaderOf, leadOf, pWords, scoreDomain } from './CompareVerdict'

describe('the lead of the better run', () => {
  it('is positive with its interval the right way round', () => {
    expect(leadOf(pairFixture({}))).toEqual({ amount: 0.1, low: 0.02, high: 0.18, weak: false })
    expect(leadOf(pairFixture({ delta: -0.1, low: -0.18, high: -0.02 }))).toEqual({
      amount: 0.1,
      low: 0.02,
      high: 0.18,
      weak: false,
    })
  })

  it('may have no interval', () => {
    expect(leadOf(pairFixture({ delta: -0.1, low: null, high: null }))).toEqual({
      amount: 0.1,
      low: null,
      high: null,
      weak: false,
    })
  })

  it('is of the smaller number where lower is better', () => {
    expect(leaderOf(pairFixture({ delta: -2 }), false)).toBe('b')
    expect(leaderOf(pairFixture({ delta: -2 }), true)).toBe('a')
    expect(leaderOf(pairFixture({ delta: 0 }), true)).toBeNull()
  })
})

describe('a p-value', () => {
  it.each([
    [0.012_34, 'p = 0.012'],
    [0.5, 'p = 0.50'],
    [1e-9, 'p < 0.001'],
    [1, 'p = 1.00'],
    [Number.NaN, 'p unknown'],
  ])('%d reads %s', (value, words) => {
    expect(pWords(value)).toBe(words)
  })
})

describe('what was compared', () => {
  it('is said plainly', () => {
    expect(basisWords(pairFixture({ n_a: 1319, n_b: 1319 }))).toBe('1,319 tasks paired')
    expect(basisWords(pairFixture({ n_a: 1, n_b: 1 }))).toBe('1 task paired')
    expect(basisWords(pairFixture({ paired: false, n_b: 60 }))).toBe('unpaired: 100 and 60 different tasks')
  })
})

describe('the axis', () => {
  it('of scores is 0 to 1 where that holds them', () => {
    expect(scoreDomain([0.2, null, 1])).toEqual([0, 1])
    expect(scoreDomain([])).toEqual([0, 1])
    expect(scoreDomain([-1, 3])).toEqual([-1.16, 3.16])
  })

  it('of differences holds 0', () => {
    expect(domainOf([1, 2], 0)).toEqual([-0.08, 2.08])
    expect(domainOf([0, null], 0)).toEqual([-0.5, 0.5])
  })
})

it('draws differences of scores from 0 to 1 only as far as they are possible', () => {
  expect(differenceDomain([0, 1], [1, 0.6, 1.2])).toEqual([expect.any(Number), 1])
  expect(differenceDomain([0, 1], [-1, -1.4, null])[0]).toBe(-1)
  expect(differenceDomain([0, 7], [5, 4, 6])[1]).toBeGreaterThan(6)
})
