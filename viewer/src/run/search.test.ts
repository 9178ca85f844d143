import { describe, expect, it } from 'vitest'
import { episodeFilter, isFiltered, isPlanOrder, listSearch, readRunSearch, sorted, toggled } from './search'

describe('readRunSearch', () => {
  it('reads everything that a page writes', () => {
    const search = {
      tab: 'charts',
      state: ['failed'],
      cause: ['refused'],
      outcome: 'worst',
      low: 0,
      high: 0.5,
      q: 'a b',
      sort: '-score',
    }
    expect(readRunSearch(search)).toEqual(search)
  })

  it('leaves out what nobody can mean', () => {
    const search = {
      tab: 'x',
      state: ['done', 7],
      cause: [{}],
      outcome: 1,
      low: 'low',
      high: Number.NaN,
      q: {},
      sort: 'colour',
    }
    expect(readRunSearch(search)).toEqual({})
  })

  it('has the label of a slice, which filters', () => {
    const search = readRunSearch({ label: 'difficulty=hard' })
    expect(search).toEqual({ label: 'difficulty=hard' })
    expect(isFiltered(search)).toBe(true)
    expect(episodeFilter(search)).toEqual(search)
  })

  it('takes one value where several may stand, and text that looks like a number', () => {
    expect(readRunSearch({ state: 'failed', q: '42', low: '0.25' })).toEqual({ state: ['failed'], q: '42', low: 0.25 })
  })

  it('keeps the label of the slices and their order, which are no filter of episodes', () => {
    const search = { tab: 'results', slice: 'difficulty', slices: '-reward' }
    expect(readRunSearch(search)).toEqual(search)
    expect(episodeFilter(readRunSearch({ ...search, q: 'a' }))).toEqual({ q: 'a' })
    expect(readRunSearch({ slices: 'colour' })).toEqual({})
  })

  it('does not write defaults', () => {
    expect(readRunSearch({ tab: 'episodes', sort: 'index', cause: [] })).toEqual({})
  })
})

describe('filters', () => {
  it('keeps a score of 0 as a bound', () => {
    expect(isFiltered({ low: 0 })).toBe(true)
  })

  it('are not the tab or the order', () => {
    expect(isFiltered({ tab: 'charts', sort: '-score' })).toBe(false)
  })

  it('go along to the episode, with the order and without the tab', () => {
    expect(episodeFilter({ tab: 'charts', sort: '-score', cause: ['refused'] })).toEqual({
      sort: '-score',
      cause: ['refused'],
    })
  })

  it('keep the text that the list was searched for apart from the search inside an episode', () => {
    expect(listSearch({ q: 'lava', cause: ['refused'] })).toEqual({ listq: 'lava', cause: ['refused'] })
  })

  it('end random access by place in the plan, like any other order', () => {
    expect(isPlanOrder({})).toBe(true)
    expect(isPlanOrder({ q: 'x' })).toBe(false)
    expect(isPlanOrder({ sort: '-index' })).toBe(false)
  })
})

describe('sorted', () => {
  it('writes no default order', () => {
    expect(sorted({ sort: '-score', q: 'x' }, 'index')).toEqual({ q: 'x' })
    expect(sorted({}, '-tokens')).toEqual({ sort: '-tokens' })
  })
})

describe('toggled', () => {
  it('sets a value beside others and takes it away again', () => {
    const both = toggled({ cause: ['refused'] }, 'cause', 'model_timeout')
    expect(both).toEqual({ cause: ['refused', 'model_timeout'] })
    expect(toggled(toggled(both, 'cause', 'refused'), 'cause', 'model_timeout')).toEqual({})
  })
})
