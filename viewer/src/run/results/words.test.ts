import { describe, expect, it } from 'vitest'
import { counts, results } from './examples'
import { attemptedWords, byStage, countWords, justBelow, sharesOf } from './words'

describe('the counts of samples', () => {
  it('add up to what was planned', () => {
    const shares = sharesOf(counts({ planned: 110, owed: 10 }), 1)
    expect(shares.map(({ id }) => id)).toEqual(['passed', 'below', 'failed', 'skipped', 'owed'])
    expect(shares.reduce((sum, { count }) => sum + count, 0)).toBe(110)
  })

  it('leave out empty parts, but not that nothing passed', () => {
    const shares = sharesOf(counts({ passed: 0, graded: 0, failed: 0, skipped: 0 }), 1)
    expect(shares.map(({ id }) => id)).toEqual(['passed', 'failed'])
  })

  it('know no passing without a threshold', () => {
    expect(sharesOf(counts({ passed: null }), null).map(({ id }) => id)).toEqual(['graded', 'failed', 'skipped'])
    expect(countWords(counts({ passed: null }))).toBe('80 graded, 15 failed, 5 skipped, 0 pending')
  })

  it('are a sentence', () => {
    expect(countWords(counts())).toBe('80 graded, 60 passed, 15 failed, 5 skipped, 0 pending')
    expect(attemptedWords(results())).toMatch(/^60 of 95 finished samples/)
  })
})

it('the failures of a stage stand together, the stage with most first', () => {
  const failure = (stage: 'workflow' | 'timeout' | 'grader', cause: string, count: number) => ({
    stage,
    cause,
    count,
    valid: true,
  })
  const found = byStage([
    failure('grader', 'grader_error', 4),
    failure('workflow', 'workflow_failed', 3),
    failure('workflow', 'workflow_invalid', 2),
  ])
  expect(found.map(({ cause }) => cause)).toEqual(['workflow_failed', 'workflow_invalid', 'grader_error'])
})

it('just below a number is the nearest smaller one', () => {
  for (const value of [1, 0.5, -1, 1e300]) {
    const below = justBelow(value)
    expect(below).toBeLessThan(value)
    expect((below + value) / 2 === below || (below + value) / 2 === value).toBe(true)
  }
  expect(justBelow(0)).toBe(-Number.MIN_VALUE)
})
