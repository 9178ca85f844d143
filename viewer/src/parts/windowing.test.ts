import { describe, expect, it } from 'vitest'
import { reveal, view } from './windowing'

describe('a short list', () => {
  it('draws what is in view and some more', () => {
    expect(view(1000, 30, 3000, 600, 5)).toEqual({ first: 95, last: 125, height: 30_000, offset: 95 * 30 })
  })

  it('draws nothing when it is empty', () => {
    expect(view(0, 30, 0, 600).last).toBe(-1)
  })

  it('scrolls no further than a row needs', () => {
    expect(reveal(5, 1000, 30, 0, 600)).toBe(0)
    expect(reveal(40, 1000, 30, 0, 600)).toBe(41 * 30 - 600)
    expect(reveal(2, 1000, 30, 600, 600)).toBe(60)
  })
})

describe('a list taller than a browser can make an element', () => {
  const MANY = 5_000_000

  it('reaches its last row at the end of the scroll bar', () => {
    const height = view(MANY, 36, 0, 600).height
    expect(height).toBe(15_000_000)
    const end = view(MANY, 36, height - 600, 600)
    expect(end.last).toBe(MANY - 1)
    expect(end.offset + (end.last - end.first + 1) * 36).toBeCloseTo(height, 0)
  })

  it('brings any row into view', () => {
    for (const index of [0, 1, 1234, 2_500_000, MANY - 1]) {
      const top = reveal(index, MANY, 36, 7_000_000, 600)
      const shown = view(MANY, 36, top, 600, 0)
      expect(shown.first).toBeLessThanOrEqual(index)
      expect(shown.last).toBeGreaterThanOrEqual(index)
    }
  })
})
