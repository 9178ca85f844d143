import { describe, expect, it } from 'vitest'
import { changedRun, isRunChange, isTurn } from './change'
import { counts, metric, run } from './examples'

const going = run({
  state: 'running',
  counts: counts({ done: 40, owed: 60 }),
  metrics: [metric(), metric({ name: 'other', value: 7 })],
})

describe('changedRun', () => {
  it('moves the numbers of the run and keeps what the stream does not tell', () => {
    const news = run({ state: 'running', counts: counts({ done: 41, owed: 59 }), primary: metric({ value: 0.5 }) })
    const { counts: moved, metrics, commands } = changedRun(going, { runs: [news], deleted: [] })
    expect([moved.done, metrics.map(({ value }) => value), commands]).toEqual([41, [0.5, 7], going.commands])
  })

  it('is the same run when the change is about others', () => {
    expect(changedRun(going, { runs: [run({ id: 'other' })], deleted: [] })).toBe(going)
  })
})

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
