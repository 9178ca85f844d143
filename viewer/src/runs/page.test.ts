import { describe, expect, it } from 'vitest'
import { arrivals, type Page, patchedPage, type Run, rowsOf } from './page'
import { runFixture } from './runFixture'

const run = (id: string, changes: Partial<Run> = {}) => runFixture({ id, signature: `signature of ${id}`, ...changes })
const page = (...items: Run[]): Page => ({ items, cursor: null, total: items.length, total_exact: true })

describe('a change of runs', () => {
  it('leaves every row in its place', () => {
    const before = page(run('a'), run('b'), run('c'))
    const after = patchedPage(before, { runs: [run('b', { state: 'finished' })], deleted: [] })
    expect(after.items.map((item) => [item.id, item.state])).toEqual([
      ['a', 'running'],
      ['b', 'finished'],
      ['c', 'running'],
    ])
    expect(after.items[0]).toBe(before.items[0])
  })

  it('takes away what is gone and counts it', () => {
    const after = patchedPage({ ...page(run('a'), run('b')), total: 50 }, { runs: [], deleted: ['a'] })
    expect(after.items.map((item) => item.id)).toEqual(['b'])
    expect(after.total).toBe(49)
  })

  it('leaves a page alone that has none of the runs', () => {
    const before = page(run('a'))
    expect(patchedPage(before, { runs: [run('z')], deleted: ['y'] })).toBe(before)
  })

  it('tells of runs that began after the list was read, and of no others', () => {
    const since = Date.parse('2026-01-02T00:00:00Z')
    const change = {
      runs: [
        run('known', { created_at: '2026-01-03T00:00:00Z' }),
        run('new', { created_at: '2026-01-03T00:00:00Z' }),
        run('on another page', { created_at: '2026-01-01T00:00:00Z' }),
      ],
      deleted: [],
    }
    expect(arrivals(change, new Set(['known']), since)).toEqual(['new'])
  })
})

describe('rows', () => {
  const runs = [run('a2', { signature: 's' }), run('b'), run('a1', { signature: 's' })]
  const shape = (folded: boolean, open: string[]) =>
    rowsOf(runs, folded, new Set(open)).map((row) => `${row.nested ? '> ' : ''}${row.run.id}+${row.attempts.length}`)

  it('are the runs as they come', () => {
    expect(shape(false, [])).toEqual(['a2+0', 'b+0', 'a1+0'])
  })

  it('fold attempts at the same into the first of them', () => {
    expect(shape(true, [])).toEqual(['a2+1', 'b+0'])
  })

  it('unfold below it', () => {
    expect(shape(true, ['s'])).toEqual(['a2+1', '> a1+0', 'b+0'])
  })

  it('keep runs without a signature apart', () => {
    const unsigned = [run('x', { signature: '' }), run('y', { signature: '' })]
    expect(rowsOf(unsigned, true, new Set())).toHaveLength(2)
  })
})
