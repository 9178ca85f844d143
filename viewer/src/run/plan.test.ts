import { describe, expect, it } from 'vitest'
import { episode } from './examples'
import { pagesOf, planRows } from './plan'

describe('planRows', () => {
  it('fills the places of owed episodes', () => {
    const rows = planRows([episode({ index: 3 }), episode({ index: 5 })], 3, 4, 100)
    expect(rows.map((row) => [row.index, row.kind])).toEqual([
      [3, 'episode'],
      [4, 'owed'],
      [5, 'episode'],
      [6, 'owed'],
    ])
  })

  it('ends with the plan', () => {
    expect(planRows([], 98, 10, 100)).toHaveLength(2)
  })
})

describe('pagesOf', () => {
  it('names every page that rows lie on', () => {
    expect(pagesOf(190, 410, 200)).toEqual([0, 1, 2])
    expect(pagesOf(-3, 5, 200)).toEqual([0])
  })
})
