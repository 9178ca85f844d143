import { describe, expect, it } from 'vitest'
import type { Schema } from '../api/types'
import { digits, ends, kappaWords } from './kappa'
import { labelWords, said, timeLeft } from './words'

const VERDICT: Schema<'VerdictDocument'> = {
  ...{ id: '1', round_id: null, round_name: '', author: 'Ada', mine: true, at: '2026-01-01T00:00:00Z' },
  ...{ answer: null, grader: null, labels: {}, note: '', step: '', settles: false, withdrawn: false, current: true },
}

describe('words of reviews', () => {
  it('says a verdict in one sentence', () => {
    expect(said({ ...VERDICT, grader: 'wrong', answer: 'right' })).toBe('grader is wrong, answer: Right')
    expect(said({ ...VERDICT, answer: 'faulty', settles: true })).toBe('answer: Faulty (settled)')
    expect(said({ ...VERDICT, note: 'x' })).toBe('note')
    expect(said({ ...VERDICT, withdrawn: true })).toBe('took the verdict back')
  })

  it('leaves out labels that were not set', () => {
    expect(labelWords({ lucky: true, off: false, cause: 'slip', clear: 2 })).toEqual([
      'lucky',
      'cause: slip',
      'clear: 2',
    ])
  })

  it('tells the time that is left from the middle of what the last ones took', () => {
    expect(timeLeft([20, 20], 27)).toBeUndefined()
    expect(timeLeft([20, 600, 20], 27)).toBe('about 9 min left at 20 s each')
    expect(timeLeft([1, 1, 1], 5)).toBe('about 5 s left at 1 s each')
    expect(timeLeft([1, 1, 1], 0)).toBeUndefined()
  })

  it('never shows an interval that is not known', () => {
    const kappa = { value: -0.125, low: null, high: null, weak: false, n: 3, method: 'bootstrap' }
    expect(digits(-0.125)).toBe('−0.13')
    expect(ends(kappa)).toBe('–')
    expect(kappaWords(kappa)).toBe('−0.13, interval not known')
    expect(kappaWords({ ...kappa, value: 0.754, low: 0.59, high: 0.88 })).toBe('0.75, 0.59 – 0.88')
  })
})
