import { describe, expect, it } from 'vitest'
import { attemptWords } from './Attempts'

describe('attempts at a task', () => {
  it('say how many passed', () => {
    expect(attemptWords({ passed: 1, judged: 2, whole: true })).toBe('1 of 2 passed')
    expect(attemptWords({ passed: 2, judged: 5, whole: false })).toBe('2 of 5 passed, in the newest 50 runs')
  })

  it('say what that means for the task, once there are enough', () => {
    expect(attemptWords({ passed: 0, judged: 2, whole: true })).toBe('0 of 2 passed')
    expect(attemptWords({ passed: 0, judged: 3, whole: true })).toContain('too hard, or its right answer is wrong')
    expect(attemptWords({ passed: 3, judged: 3, whole: true })).toContain('tells no models apart')
  })
})
