import { describe, expect, it } from 'vitest'
import { counts, failure, metric, run } from './examples'
import { troubles, withoutTrouble } from './troubles'

describe('troubles', () => {
  it('put the most frequent first and say whether they count', () => {
    const found = troubles([failure(), failure({ cause: 'model_timeout', valid: false, count: 9 })], metric())
    expect(found.map(({ cause, count, effect }) => [cause, count, effect])).toEqual([
      ['model_timeout', 9, 'missing'],
      ['malformed_action', 3, 'worst'],
    ])
  })

  it('hold missing values of episodes that did not fail, once', () => {
    const missing = { value_missing: 4, environment_error: 2 }
    const found = troubles([failure({ cause: 'environment_error', valid: false, count: 2 })], metric({ missing }))
    expect(found.map(({ cause }) => cause)).toEqual(['value_missing', 'environment_error'])
    expect(found[0]?.example).toBe(undefined)
  })

  it('hold what was said of the first episode that has no value', () => {
    const first = {
      metric: 'goal_rate',
      cause: 'grader_error',
      episode_id: 'e-7',
      task_id: '7',
      message: "ValueError: 'Paris'",
    }
    const [found] = troubles([], metric({ missing: { grader_error: 4 } }), [first])
    expect(found?.example).toEqual({ episode: 'e-7', task: '7', message: "ValueError: 'Paris'" })
  })

  it('are not episodes that were not played', () => {
    expect(troubles([], metric({ missing: { not_run: 52 } }))).toEqual([])
  })
})

describe('a run without errors', () => {
  it('is not praised: its answers may all be wrong', () => {
    expect(withoutTrouble(run())).toBe('0. No episode failed.')
  })

  it.each(['stopped', 'interrupted', 'running'] as const)('says what is still to play while it is %s', (state) => {
    expect(withoutTrouble(run({ state, counts: counts({ done: 72, owed: 28 }) }))).toBe(
      '0 so far; 28 are still to play.',
    )
  })

  it('tells of episodes that were cut off', () => {
    expect(withoutTrouble(run({ counts: counts({ truncated: 3, timeout: 1 }) }))).toBe(
      '0. No episode failed, 3 reached the step limit and 1 reached the time limit.',
    )
  })
})
