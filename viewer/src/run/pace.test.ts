import { describe, expect, it } from 'vitest'
import { pace, remember, WINDOW } from './pace'

const whole = { done: 50, owed: 50, duration: 100 }

describe('pace', () => {
  it('is that of the whole run at first', () => {
    expect(pace([], whole)).toEqual({ perSecond: 0.5, secondsLeft: 100 })
  })

  it('is what was seen lately as soon as that says something', () => {
    const seen = [
      { at: 0, done: 30 },
      { at: 10_000, done: 50 },
    ]
    expect(pace(seen, whole)).toEqual({ perSecond: 2, secondsLeft: 25 })
  })

  it('is unknown before the first episode', () => {
    expect(pace([], { done: 0, owed: 9, duration: 5 })).toEqual({ perSecond: null, secondsLeft: null })
  })

  it('promises no end after a single episode', () => {
    expect(pace([], { done: 1, owed: 9, duration: 5 }).secondsLeft).toBe(null)
  })
})

describe('remember', () => {
  it('forgets what is too old', () => {
    expect(remember([{ at: 0, done: 1 }], { at: WINDOW + 1, done: 2 })).toEqual([{ at: WINDOW + 1, done: 2 }])
  })

  it('begins anew when a run does', () => {
    expect(remember([{ at: 0, done: 9 }], { at: 1, done: 2 })).toEqual([{ at: 1, done: 2 }])
  })

  it('keeps the beginning of a standstill', () => {
    const seen = [
      { at: 0, done: 1 },
      { at: 10, done: 2 },
    ]
    expect(remember(seen, { at: 20, done: 2 })).toEqual([
      { at: 0, done: 1 },
      { at: 20, done: 2 },
    ])
  })
})
