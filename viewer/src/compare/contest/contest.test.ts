import { describe, expect, it } from 'vitest'
import { metricFixture } from '../../runs/runFixture'
import { type ContestRow, pairOf, reasonWords, sideName, tally, tallyWords } from './contest'

function row(given: Partial<ContestRow>): ContestRow {
  const result = { run_id: 'r', status: 'succeeded' as const, reason: '', score: metricFixture() }
  return {
    benchmark: 'gsm8k',
    title: 'GSM8K',
    unit: 'ratio',
    higher_is_better: true,
    a: result,
    b: { ...result, run_id: 's' },
    delta: 0.1,
    low: 0.05,
    weak: false,
    high: 0.15,
    level: 0.95,
    p_value: 0.01,
    n_a: 100,
    n_b: 100,
    paired: true,
    winner: 'b',
    note: '',
    ...given,
  }
}

describe('tally', () => {
  it('counts wins, ties and what could not be compared', () => {
    const found = tally([row({}), row({ winner: 'a' }), row({ winner: 'tie' }), row({ winner: null })])
    expect(found).toEqual({ a: 1, b: 1, tie: 1, none: 1 })
    expect(tallyWords(found)).toBe(
      'Of 3 benchmarks, B is better on 1 and worse on 1, with 1 tie; 1 benchmark could not be compared.',
    )
  })

  it('says when there was nothing to compare', () => {
    expect(tallyWords(tally([]))).toBe('No benchmarks could be compared.')
  })
})

describe('reasonWords', () => {
  it('is silent where there is a score', () => {
    expect(reasonWords(row({}).a)).toBe('')
  })

  it('says what came of it, and why', () => {
    expect(reasonWords({ run_id: null, status: 'incompatible', reason: 'no docker', score: null })).toBe(
      'incompatible: no docker',
    )
    expect(reasonWords({ run_id: null, status: null, reason: '', score: null })).toBe('not played yet')
  })
})

describe('pairOf', () => {
  it('needs two runs that were compared', () => {
    expect(pairOf(row({}))).toEqual(['r', 's'])
    expect(pairOf(row({ p_value: null }))).toBeNull()
  })
})

describe('sideName', () => {
  it('names the provider', () => {
    const side = { name: 'a' as const, provider: 'vllm', model: 'x/y', base_url: '', group_id: 'g', created_at: '' }
    expect(sideName(side)).toBe('vllm/x/y')
    expect(sideName(undefined)).toBe('not started')
  })
})
