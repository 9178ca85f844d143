import { describe, expect, it } from 'vitest'
import { coverageWords, readiness } from './coverage'

describe('coverageWords', () => {
  it('says that nothing was run', () => {
    expect(coverageWords({ state: 'never', tasks: 0, total: null })).toMatchObject({ word: 'never run', numbers: '' })
  })

  it('says how large a sample is, and of how many where that is known', () => {
    expect(coverageWords({ state: 'partly', tasks: 5, total: null }).numbers).toBe('5 tasks')
    expect(coverageWords({ state: 'partly', tasks: 5, total: 1319 }).numbers).toBe('5 of 1,319 tasks')
  })

  it('says that all tasks were scored only where they were', () => {
    expect(coverageWords({ state: 'whole', tasks: 164, total: 164 }).word).toBe('all')
    expect(coverageWords({ state: 'endless', tasks: 1, total: null })).toMatchObject({ word: 'run', numbers: '1 task' })
  })
})

describe('readiness', () => {
  it('keeps apart what is not known, what is ready, and what is missing', () => {
    expect(readiness(null).ready).toBeNull()
    expect(readiness([])).toMatchObject({ word: 'ready', ready: true })
    expect(readiness(['no docker', 'no disk'])).toMatchObject({ word: '2 requirements missing', ready: false })
  })
})
