import { describe, expect, it } from 'vitest'
import { readCompareSearch, withBaseline, withoutRun, withRun } from './CompareSearch'

describe('reading the URL', () => {
  it('takes every run once and ignores what it does not know', () => {
    expect(readCompareSearch({ run: ['a', 'b', 'a', {}], tasks: 'most', metric: 'reward' })).toEqual({
      run: ['a', 'b'],
      metric: 'reward',
    })
  })

  it('takes one run', () => {
    expect(readCompareSearch({ run: 'a' })).toEqual({ run: ['a'] })
    expect(readCompareSearch({})).toEqual({})
  })

  it('takes no more runs than can be compared', () => {
    expect(readCompareSearch({ run: Array.from({ length: 30 }, (_, index) => `r${index}`) }).run).toHaveLength(20)
  })
})

describe('the runs', () => {
  it('are added once', () => {
    expect(withRun({ run: ['a'] }, 'b').run).toEqual(['a', 'b'])
    expect(withRun({ run: ['a'] }, 'a').run).toEqual(['a'])
  })

  it('are taken away together with what was chosen of them', () => {
    expect(withoutRun({ run: ['a', 'b'], against: 'b', tasks: 'all' }, 'b')).toEqual({ run: ['a'], tasks: 'all' })
    expect(withoutRun({ run: ['a'] }, 'a')).toEqual({})
  })

  it('have the chosen one first', () => {
    expect(withBaseline({ run: ['a', 'b', 'c'], against: 'c' }, 'c')).toEqual({ run: ['c', 'a', 'b'] })
  })
})
