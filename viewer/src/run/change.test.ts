import { describe, expect, it } from 'vitest'
import { isRunChange, isTurn } from './change'
import { counts, run } from './examples'

const going = run({ state: 'running', counts: counts({ done: 40, owed: 60 }) })

describe('isTurn', () => {
  it('tells the end of a run from moving numbers', () => {
    expect(isTurn(going, { runs: [run({ state: 'running' })], deleted: [] })).toBe(false)
    expect(isTurn(going, { runs: [run({ state: 'finished' })], deleted: [] })).toBe(true)
    expect(isTurn(going, { runs: [], deleted: [going.id] })).toBe(true)
  })
})

describe('isRunChange', () => {
  it('refuses anything else', () => {
    expect([isRunChange({ runs: [], deleted: [] }), isRunChange(null), isRunChange({ runs: 3 })]).toEqual([
      true,
      false,
      false,
    ])
  })
})
