import { describe, expect, it } from 'vitest'
import { isPassFail, joinedBins, outcomeBars } from './series'

const pass = { low: 0, high: 1, counts: [28, 0, 0, 35], worst: 37, missing: 0 }

describe('isPassFail', () => {
  it('tells marks from grades', () => {
    expect(isPassFail(pass)).toBe(true)
    expect(isPassFail({ ...pass, counts: [28, 1, 0, 35] })).toBe(false)
    expect(isPassFail({ ...pass, low: -1 })).toBe(false)
  })
})

describe('outcomeBars', () => {
  it('leads from every outcome to its episodes', () => {
    expect(outcomeBars(pass).map(({ label, count, filter }) => [label, count, filter])).toEqual([
      ['Passed', 35, { low: 1, high: 1 }],
      ['Not passed', 28, { low: 0, high: 0 }],
      ['Counted as worst', 37, { outcome: 'worst' }],
    ])
  })

  it('are only those without a value for grades', () => {
    const bars = outcomeBars({ ...pass, counts: [1, 2, 3], worst: 0, missing: 4 })
    expect(bars.map(({ label }) => label)).toEqual(['Score missing'])
  })
})

describe('joinedBins', () => {
  const bin = (first: number, mean: number | null, n = 1, failed = 0) => ({
    first,
    last: first + n - 1,
    n,
    mean,
    failed,
  })

  it('joins neighbours by how many were scored', () => {
    const [joined] = joinedBins([bin(0, 1, 3), bin(3, 0, 2, 1)], 1)
    expect(joined).toEqual({ at: 2, value: 0.75, label: 'episodes 0 to 4, 1 failed' })
  })

  it('leaves a gap where nothing was scored', () => {
    expect(joinedBins([bin(0, null), bin(1, 0.5)]).map(({ value }) => value)).toEqual([null, 0.5])
  })

  it('makes no more bins than can be seen', () => {
    const many = Array.from({ length: 100 }, (_, place) => bin(place, 1))
    expect(joinedBins(many)).toHaveLength(34)
    expect(joinedBins([])).toEqual([])
  })
})
