import { describe, expect, it } from 'vitest'
import { afterPage, lastOfWhole, pagesNear, rowsKnown, unread } from './beginnings'

const start = unread('q')

describe('the pages of a list', () => {
  it('become known one after the other', () => {
    const two = afterPage(start, 0, 100, 'c1')
    expect(two.cursors).toEqual([null, 'c1'])
    expect(rowsKnown(two, 100)).toBe(200)
    const end = afterPage(two, 1, 7, null)
    expect(rowsKnown(end, 100)).toBe(107)
  })

  it('are as few as there are rows', () => {
    expect(rowsKnown(start, 100)).toBe(100)
    expect(rowsKnown(afterPage(start, 0, 0, null), 100)).toBe(0)
  })

  it('stay the same object while nothing new is known', () => {
    const two = afterPage(start, 0, 100, 'c1')
    expect(afterPage(two, 0, 100, 'c1')).toBe(two)
    const end = afterPage(two, 1, 7, null)
    expect(afterPage(end, 1, 7, null)).toBe(end)
    expect(afterPage(start, 5, 100, 'c')).toBe(start)
  })

  it('are forgotten behind a page that leads elsewhere', () => {
    const three = afterPage(afterPage(start, 0, 100, 'c1'), 1, 100, 'c2')
    expect(afterPage(three, 0, 100, 'other').cursors).toEqual([null, 'other'])
    expect(rowsKnown(afterPage(three, 0, 20, null), 100)).toBe(20)
  })
})

describe('the pages to hold', () => {
  it('are those around the visible rows and the first one', () => {
    expect(pagesNear(950, 980, 100, 50)).toEqual([0, 8, 9, 10])
    expect(pagesNear(0, 20, 100, 50)).toEqual([0, 1])
    expect(pagesNear(0, -1, 100, 1)).toEqual([0])
  })

  it('are all that were read, and one more only when asked for', () => {
    const three = afterPage(afterPage(start, 0, 100, 'c1'), 1, 100, 'c2')
    const held = (further: boolean) => pagesNear(0, lastOfWhole(rowsKnown(three, 100), 100, further), 100, 3)
    expect(held(false)).toEqual([0, 1])
    expect(held(true)).toEqual([0, 1, 2])
  })

  it('are only those whose beginning is known', () => {
    expect(pagesNear(150, 180, 100, 2)).toEqual([0, 1])
  })
})
