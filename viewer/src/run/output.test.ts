import { describe, expect, it } from 'vitest'
import { endOf, outputWith } from './output'

const at = '2026-11-01T10:00:00Z'

function page(numbers: number[], ended = false) {
  const items = numbers.map((number) => ({ number, at, text: `line ${number}\n` }))
  return { run_id: 'r', items, last: numbers.at(-1) ?? 0, ended }
}

describe('the output of a run', () => {
  it('grows by pages', () => {
    const first = outputWith(undefined, page([1, 2]))
    const all = outputWith(first, page([3], true))
    expect(all).toEqual({ text: 'line 1\nline 2\nline 3\n', last: 3, ended: true, cut: false })
  })

  it('stays as it is while nothing comes', () => {
    const known = outputWith(undefined, page([1]))
    expect(outputWith(known, { ...page([]), last: 1 })).toEqual(known)
  })

  it('tells that its beginning was dropped', () => {
    expect(outputWith(undefined, page([7, 8])).cut).toBe(true)
    expect(outputWith(outputWith(undefined, page([1])), page([9])).cut).toBe(true)
  })
})

describe('the end of a long text', () => {
  it('begins with a line', () => {
    expect(endOf('first\nsecond\nthird', 9)).toBe('third')
    expect(endOf('short', 9)).toBe('short')
    expect(endOf('without lines', 5)).toBe('lines')
  })
})
