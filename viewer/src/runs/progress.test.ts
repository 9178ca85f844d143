import { describe, expect, it } from 'vitest'
import { countWords, doneShare, leftWords, secondsLeft } from './progress'
import { countsFixture, runFixture } from './runFixture'

const counts = countsFixture({ planned: 0, completed: 0, truncated: 0, failed: 0, done: 0, owed: 0, missing: 0 })

describe('progress', () => {
  it('is the part that is done', () => {
    expect(doneShare(runFixture())).toBe(0.5)
    expect(doneShare(runFixture({ counts }))).toBe(0)
  })

  it('goes on as it did', () => {
    expect(secondsLeft(runFixture())).toBe(60)
    expect(secondsLeft(runFixture({ state: 'stopped' }))).toBeNull()
    expect(secondsLeft(runFixture({ counts: { ...counts, planned: 9, owed: 9 } }))).toBeNull()
  })

  it.each([
    [0.2, '~1 s'],
    [59.6, '~1m'],
    [1_025, '~17m'],
    [7_300, '~2h'],
  ])('%d seconds are left: %s', (seconds, words) => {
    expect(leftWords(seconds)).toBe(words)
  })

  it('is told with what went wrong', () => {
    expect(countWords(runFixture())).toBe('50 of 100 episodes done, 1 failed, 1 truncated, about 1m 00s left')
  })
})
