import { describe, expect, it } from 'vitest'
import { fitting } from '../parts/column'
import { offeredColumns, readColumns } from './columns'

const ids = (width: number, chosen?: string[]) =>
  fitting(
    offeredColumns(chosen).map((column) => ({ ...column, key: column.id, header: column.title, render: () => null })),
    width,
  ).map((column) => column.key)

describe('the automatic choice', () => {
  it('shows every column of the plan on a wide screen', () => {
    expect(ids(1_500)).toEqual(
      'name benchmark model agent state score cost tokens duration created_at attempt'.split(' '),
    )
  })

  it('drops the least important ones first', () => {
    const narrow = ids(936)
    expect(narrow).toEqual(expect.arrayContaining(['benchmark', 'state', 'score', 'created_at']))
    expect(narrow).not.toContain('agent')
  })

  it('keeps the name and the score at any width', () => {
    expect(ids(10)).toEqual(['name', 'score'])
  })
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
