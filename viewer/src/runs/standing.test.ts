import { describe, expect, it } from 'vitest'
import { metricFixture, runFixture } from './runFixture'
import { standing } from './standing'

describe('the best run of a benchmark', () => {
  it('is ahead of others', () => {
    expect(standing(runFixture({ id: 'a' }), ['a', 'b'])).toBe('best')
  })

  it('is no winner when no other run has a score', () => {
    expect(standing(runFixture({ id: 'a' }), ['a'])).toBe('only')
    expect(standing(runFixture({ id: 'a' }), [])).toBe('only')
  })

  it('is worth nothing with the worst score', () => {
    const worthless = metricFixture({ value: 0, worst_value: null })
    expect(standing(runFixture({ id: 'a', primary: worthless }), ['a', 'b'])).toBe('worthless')
    const worst = metricFixture({ value: 9, worst_value: 9, higher_is_better: false })
    expect(standing(runFixture({ id: 'a', primary: worst }), ['a', 'b'])).toBe('worthless')
    const least = metricFixture({ value: 0, worst_value: 9, higher_is_better: false })
    expect(standing(runFixture({ id: 'a', primary: least }), ['a', 'b'])).toBe('best')
  })
})
