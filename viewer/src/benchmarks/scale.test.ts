import { describe, expect, it } from 'vitest'
import { placeOn, rankWords, scaleOf, wholeScale } from './scale'

describe('scaleOf', () => {
  it('has round ends around everything', () => {
    expect(scaleOf([0.03, 0.97])).toEqual({ low: 0, high: 1, ticks: [0, 0.2, 0.4, 0.6, 0.8, 1] })
  })

  it('holds a single value, and none', () => {
    expect(scaleOf([5]).low).toBeLessThan(5)
    expect(scaleOf([0, null]).high).toBeGreaterThan(0)
    expect(scaleOf([null, undefined]).ticks.at(-1)).toBe(1)
  })

  it('works for tiny, huge and negative numbers', () => {
    for (const values of [
      [1e-9, 3e-9],
      [-4e12, 5e12],
      [-3, -2.9],
    ]) {
      const scale = scaleOf(values)
      expect(scale.low).toBeLessThanOrEqual(Math.min(...values))
      expect(scale.high).toBeGreaterThanOrEqual(Math.max(...values))
      expect(scale.ticks.length).toBeLessThan(10)
    }
  })
})

describe('wholeScale', () => {
  it('is that of shares where it can be', () => {
    expect(wholeScale([0.3, 0.4])).toMatchObject({ low: 0, high: 1 })
    expect(wholeScale([null, -3, 4]).low).toBeLessThanOrEqual(-3)
  })
})

describe('placeOn', () => {
  it('stays on the scale', () => {
    const scale = scaleOf([0, 1])
    expect([placeOn(scale, -1), placeOn(scale, 0.25), placeOn(scale, 9)]).toEqual([0, 0.25, 1])
  })
})

describe('rankWords', () => {
  it('tells shared places', () => {
    expect(rankWords({ rank: 1, rank_last: 1 })).toBe('1')
    expect(rankWords({ rank: 2, rank_last: 4 })).toBe('2–4')
    expect(rankWords({ rank: null, rank_last: null })).toBe('')
  })
})
