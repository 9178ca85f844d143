import { describe, expect, it } from 'vitest'
import { episode } from './examples'
import { pagesOf, planRow, sameRow } from './plan'

const found = [episode({ index: 3 }), episode({ index: 5 })]

describe('planRow', () => {
  it('is the place of an owed episode where nothing was played', () => {
    expect([3, 4, 5, 6].map((index) => planRow(found, index).kind)).toEqual(['episode', 'owed', 'episode', 'owed'])
  })
})

describe('sameRow', () => {
  it('tells rows apart by what they show', () => {
    expect(sameRow(planRow(found, 3), planRow(found, 3))).toBe(true)
    expect(sameRow(planRow(found, 4), planRow(found, 4))).toBe(true)
    expect(sameRow(planRow(found, 3), planRow([episode({ index: 3, score: 0 })], 3))).toBe(false)
    expect(sameRow(planRow(found, 3), planRow([], 3))).toBe(false)
  })
})

describe('pagesOf', () => {
  it('names every page that rows lie on', () => {
    expect(pagesOf(190, 410, 200)).toEqual([0, 1, 2])
    expect(pagesOf(-3, 5, 200)).toEqual([0])
  })
})
