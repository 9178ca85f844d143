import { describe, expect, it } from 'vitest'
import { failure, metric } from './examples'
import { troubles } from './troubles'

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

  it('are not episodes that were not played', () => {
    expect(troubles([], metric({ missing: { not_run: 52 } }))).toEqual([])
  })
})
