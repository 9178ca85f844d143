import { describe, expect, it } from 'vitest'
import { historyLines, type Reading } from './history'

function reading(model: string, created_at: string, value: number | null = 0.5): Reading {
  return {
    run_id: created_at,
    model,
    agent: 'loop',
    created_at,
    benchmark_digest: 'd',
    value,
    low: null,
    weak: false,
    high: null,
    n_scored: 1,
    n_planned: 1,
    sample: false,
  }
}

describe('historyLines', () => {
  it('makes one line for each model, the latest first, each from old to new', () => {
    const lines = historyLines([
      reading('a', '2026-03-01T00:00:00Z'),
      reading('b', '2026-04-01T00:00:00Z'),
      reading('a', '2026-01-01T00:00:00Z'),
    ])
    expect(
      lines.map(({ model, readings }) => [model, readings.map(({ created_at }) => created_at.slice(5, 7))]),
    ).toEqual([
      ['b', ['04']],
      ['a', ['01', '03']],
    ])
  })

  it('leaves out runs without a score', () => {
    expect(historyLines([reading('a', '2026-03-01T00:00:00Z', null)])).toEqual([])
  })
})
