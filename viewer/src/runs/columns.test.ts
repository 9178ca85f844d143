import { describe, expect, it } from 'vitest'
import { fitting } from '../parts/column'
import { offeredColumns, readColumns } from './columns'
import { runFixture } from './runFixture'

const ids = (width: number, chosen?: string[]) =>
  fitting(
    offeredColumns(chosen).map((column) => ({ ...column, key: column.id, header: column.title, render: () => null })),
    width,
  ).map((column) => column.key)

describe('the automatic choice', () => {
  it('shows every column of the plan on a wide screen', () => {
    expect(ids(1_620)).toEqual(
      'name outcome score interval scale n baseline errors published cost duration created_at tags'.split(' '),
    )
  })

  it('drops the least important ones first', () => {
    const narrow = ids(1_046)
    expect(narrow).toEqual(expect.arrayContaining(['outcome', 'baseline', 'score', 'created_at']))
    expect(narrow).not.toContain('duration')
  })

  it('keeps the name and the score at any width', () => {
    expect(ids(10)).toEqual(['name', 'score'])
  })
})

it('leaves out columns in which no run has anything to say', () => {
  const runs = [runFixture({ tags: [] }), runFixture({ tags: [] })]
  expect(offeredColumns(undefined, runs).map(({ id }) => id)).not.toContain('tags')
  expect(offeredColumns(undefined, [...runs, runFixture({ tags: ['a'] })]).map(({ id }) => id)).toContain('tags')
  expect(offeredColumns(['tags'], runs).map(({ id }) => id)).toContain('tags')
})

describe('a choice of a person', () => {
  it('is kept at any width, in the order of the table, with the name always there', () => {
    expect(ids(300, ['tokens', 'tags', 'model', 'nonsense'])).toEqual(['name', 'model', 'tokens', 'tags'])
  })

  it('is none when no word names a column', () => {
    expect(readColumns(['x'])).toEqual([])
    expect(ids(10, ['x'])).toEqual(['name', 'score'])
  })
})
