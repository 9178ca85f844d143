import { describe, expect, it } from 'vitest'
import type { Schema } from '../api/types'
import { runFixture } from './runFixture'
import { activeFilters, direction, matches, nextSort, readRunsSearch, runsQuery, toggled, unfiltered } from './search'

describe('reading the URL', () => {
  it('leaves out what cannot be understood', () => {
    expect(readRunsSearch({ state: ['finished', 'nonsense'], sort: '-colour', q: { a: 1 }, attempts: 'x' })).toEqual({
      state: ['finished'],
    })
  })

  it('takes one value as well as several', () => {
    expect(readRunsSearch({ model: 'a', tag: ['x', 'y', 'x'] })).toEqual({ model: ['a'], tag: ['x', 'y'] })
  })

  it('takes text that looks like a number for text', () => {
    expect(readRunsSearch({ q: 42, tag: 7 })).toEqual({ q: '42', tag: ['7'] })
  })

  it('has no parameter for the usual order', () => {
    expect(readRunsSearch({ sort: '-created_at' })).toEqual({})
    expect(readRunsSearch({ sort: 'created_at' })).toEqual({ sort: 'created_at' })
  })
})

describe('the query of the API', () => {
  it('says the order and nothing about columns', () => {
    expect(runsQuery({ columns: ['name'], attempts: 'folded', q: 'x' })).toEqual({ q: 'x', sort: '-created_at' })
  })
})

describe('filters', () => {
  it('are listed text first', () => {
    expect(activeFilters({ model: ['m'], state: ['failed'], q: 'word' })).toEqual([
      { filter: 'q', value: 'word' },
      { filter: 'state', value: 'failed' },
      { filter: 'model', value: 'm' },
    ])
  })

  it('go on and off', () => {
    const on = toggled({ sort: 'name' }, 'tag', 'x')
    expect(on).toEqual({ sort: 'name', tag: ['x'] })
    expect(toggled(on, 'tag', 'x')).toEqual({ sort: 'name' })
    expect(toggled({ q: 'word' }, 'q', 'word')).toEqual({})
  })

  it('are taken away without losing order and columns', () => {
    expect(unfiltered({ sort: 'name', columns: ['model'], tag: ['x'], q: 'y' })).toEqual({
      sort: 'name',
      columns: ['model'],
    })
  })
})

describe('evaluations of a server', () => {
  const evaluation = { configuration: 'configs/eval/a.toml', branch: 'main', dataset_id: 'd1' }
  const request = { evaluation } as Schema<'RunRequestDocument'>
  const run = runFixture({ request, workspace_id: 'w1', owner: 'ada' })

  it.each([
    [{ workspace: 'w1', configuration: 'configs/eval/a.toml', branch: 'main', creator: 'ada', dataset: 'd1' }, true],
    [{ workspace: 'w2' }, false],
    [{ configuration: 'configs/eval/b.toml' }, false],
    [{ branch: ['try', 'main'] }, true],
    [{ creator: 'bob' }, false],
    [{ dataset: 'd2' }, false],
  ])('are found by %o: %s', (search, answer) => {
    expect(matches(run, readRunsSearch(search))).toBe(answer)
  })

  it('are not what other runs are', () => {
    expect(matches(runFixture(), readRunsSearch({ branch: 'main' }))).toBe(false)
  })

  it('have a workspace as a filter that goes off', () => {
    const search = { workspace: 'w1', branch: ['main'] }
    expect(activeFilters(search)[0]).toEqual({ filter: 'workspace', value: 'w1' })
    expect(toggled(search, 'workspace', 'w1')).toEqual({ branch: ['main'] })
  })
})

describe('sorting', () => {
  it('begins with the biggest number and the first word', () => {
    expect(nextSort(undefined, 'score')).toBe('-score')
    expect(nextSort(undefined, 'model')).toBe('model')
  })

  it('turns round on the second click', () => {
    expect(nextSort('-score', 'score')).toBe('score')
    expect(nextSort('score', 'score')).toBe('-score')
    expect(nextSort(undefined, 'created_at')).toBe('created_at')
    expect(nextSort('created_at', 'created_at')).toBeUndefined()
  })

  it('is told in the words of aria-sort', () => {
    expect(direction(undefined, 'created_at')).toBe('descending')
    expect(direction('model', 'model')).toBe('ascending')
    expect(direction('model', 'score')).toBe('none')
  })
})

describe('whether a new run is in the list', () => {
  const run = runFixture({ model: 'openai/small', tags: ['sweep'], state: 'running' })

  it.each([
    [{}, true],
    [{ state: ['failed', 'running'] }, true],
    [{ state: ['failed'] }, false],
    [{ tag: ['sweep'], model: ['openai/small'] }, true],
    [{ tag: ['nightly'] }, false],
    [{ group: ['g'] }, false],
    [{ q: 'SMALL  word' }, true],
    [{ q: 'small nothing' }, false],
  ] as const)('%j: %s', (search, answer) => {
    expect(matches(run, readRunsSearch(search))).toBe(answer)
  })
})
