import { describe, expect, it } from 'vitest'
import type { Schema } from '../api/types'
import { counts, metric, run } from './examples'
import { chosenVerdict, hasVerdicts, verdictCounts, withVerdict } from './verdicts'

const wrong: Schema<'WrongAnswersDocument'> = {
  by: 'mistake',
  wrong: 60,
  measured: 90,
  other_wrong: null,
  kinds: [],
  more: 0,
}

function histogram(low: number, high: number, all: number[]): Schema<'HistogramDocument'> {
  return { low, high, counts: all, worst: 0, missing: 0 }
}

describe('verdicts', () => {
  const mean = run({ primary: metric({ aggregation: 'mean' }) })

  it('are given by a threshold, or by scores that are all 0 or 1', () => {
    expect(hasVerdicts(run({ primary: metric({ aggregation: 'pass_rate' }) }), null)).toBe(true)
    expect(hasVerdicts(mean, histogram(0, 1, [3, 0, 0, 7]))).toBe(true)
    expect(hasVerdicts(mean, histogram(0, 0, [3]))).toBe(true)
  })

  it('are not given by other scores, nor where lower is better', () => {
    expect(hasVerdicts(mean, histogram(0, 1, [3, 1, 0, 7]))).toBe(false)
    expect(hasVerdicts(mean, histogram(0.5, 0.5, [3]))).toBe(false)
    expect(hasVerdicts(run({ primary: metric({ higher_is_better: false }) }), histogram(0, 1, [3, 0, 7]))).toBe(false)
    expect(hasVerdicts(run({ primary: null }), null)).toBe(false)
  })

  it('add up to what was planned', () => {
    const given = run({
      primary: metric({ n_scored: 90, missing: { not_run: 4, model_timeout: 6 } }),
      counts: counts({ done: 96, owed: 4 }),
    })
    expect(verdictCounts(given, wrong)).toEqual({ passed: 30, not_passed: 60, error: 6, missing: 4 })
  })

  it('leave out episodes of tasks that the metric does not cover', () => {
    const given = run({
      primary: metric({ n_planned: 95, n_scored: 90, missing: { model_timeout: 5 } }),
      counts: counts({ done: 100, owed: 0 }),
    })
    expect(verdictCounts(given, wrong)).toEqual({ passed: 30, not_passed: 60, error: 5, missing: 0 })
  })

  it('filter the table, and kinds of mistakes only among wrong answers', () => {
    expect(withVerdict({ mistake: 'A', q: 'x' }, 'pass')).toEqual({ q: 'x', outcome: 'pass' })
    expect(withVerdict({ mistake: 'A', outcome: 'fail' }, 'fail')).toEqual({ mistake: 'A', outcome: 'fail' })
    expect(withVerdict({ outcome: 'fail' }, 'pending')).toEqual({ state: ['pending'] })
    expect(chosenVerdict({})).toBe('all')
    expect(chosenVerdict({ state: ['pending'] })).toBe('pending')
    expect(chosenVerdict({ outcome: 'worst' })).toBe(null)
  })
})
