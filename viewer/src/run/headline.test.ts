import { describe, expect, it } from 'vitest'
import { counts, metric, run } from './examples'
import { headline, methodWords, runWord } from './headline'

describe('the word for a status', () => {
  it('is the same as in lists of runs', () => {
    expect(['completed', 'cancelled', 'partial'].map(runWord)).toEqual(['finished', 'stopped', 'partial'])
  })
})

describe('headline', () => {
  it('says that everything counts', () => {
    expect(headline(run()).sentences).toEqual(['Includes all 100 planned episodes.'])
  })

  it('names failures that count as the worst value', () => {
    const found = headline(run({ primary: metric({ n_worst: 37, worst_value: 0 }) }))
    expect(found.sentences).toContain('37 failures of the agent count as the worst score (0.000).')
  })

  it('tells both readings although only their intervals differ', () => {
    const primary = metric({
      value: 0,
      n_scored: 8,
      n_planned: 12,
      pessimistic: 0,
      pessimistic_low: 0,
      pessimistic_high: 0.243,
    })
    expect(headline(run({ primary })).sentences).toContain(
      'If the 4 missing ones counted as worst: 0.000 [0.000, 0.243].',
    )
  })

  it('tells both readings where something is missing', () => {
    const primary = metric({
      n_scored: 92,
      missing: { model_timeout: 8 },
      pessimistic: 0.32,
      pessimistic_low: 0.24,
      pessimistic_high: 0.41,
    })
    expect(headline(run({ primary })).sentences).toEqual([
      'Includes 92 of 100 planned episodes.',
      'If the 8 missing ones counted as worst: 0.320 [0.240, 0.410].',
    ])
  })

  it('does not count as worst what is still being played', () => {
    const primary = metric({ n_scored: 40, missing: { not_run: 60 }, pessimistic: 0.1 })
    const found = headline(run({ state: 'running', primary, counts: counts({ done: 40, owed: 60 }) }))
    expect(found.sentences).toEqual(['Includes 40 of 100 planned episodes; 60 pending.'])
  })

  it('says of a stopped run what was never played', () => {
    const primary = metric({ n_scored: 40, missing: { not_run: 60 }, pessimistic: 0.1 })
    const found = headline(run({ state: 'stopped', primary, counts: counts({ done: 40, owed: 60 }) }))
    expect(found.sentences[0]).toBe('Includes 40 of 100 planned episodes; 60 were never played.')
  })

  it('never shows a missing score as a number', () => {
    const found = headline(run({ state: 'finished', primary: metric({ value: null }) }))
    expect(found.note).toMatch(/^None of the 100 finished episodes could be scored/)
    expect(found.sentences).toEqual([])
  })

  it('says that a run broke off before anything was played', () => {
    const broken = run({ state: 'failed', primary: null, counts: counts({ done: 0, owed: 100 }) })
    expect(headline(broken).note).toBe('Ended before any episode finished.')
  })

  it('waits for the first episode', () => {
    const found = headline(run({ state: 'running', primary: null, counts: counts({ done: 0, owed: 100 }) }))
    expect(found.note).toContain('appears with the first one')
  })
})

describe('methodWords', () => {
  it('names the interval', () => {
    expect(methodWords(metric())).toBe('95% Wilson interval')
  })

  it('says when there is none', () => {
    expect(methodWords(metric({ low: null }))).toBe('no interval')
  })
})
