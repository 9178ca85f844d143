import { describe, expect, it } from 'vitest'
import { COLUMNS, fittingColumns, gridTemplate, leastWidth, readColumns, toggledColumn } from './columns'

const ids = (width: number, chosen?: string[]) => fittingColumns(width, chosen).map((column) => column.id)

describe('the automatic choice', () => {
  it('shows every column of the plan where there is room', () => {
    expect(ids(1_400)).toEqual([
      'name',
      'benchmark',
      'model',
      'agent',
      'state',
      'score',
      'high_score',
      'delta',
      'cost',
      'tokens',
      'duration',
      'created_at',
      'attempt',
    ])
  })

  it('drops the least important ones first', () => {
    const narrow = ids(980)
    expect(narrow).toContain('state')
    expect(narrow).toContain('score')
    expect(narrow).not.toContain('agent')
  })

  it.each([700, 900, 1_100, 1_300])('never asks for more than %d pixels', (width) => {
    expect(leastWidth(fittingColumns(width, undefined))).toBeLessThanOrEqual(width)
  })

  it('keeps the name, the model and the score at any width', () => {
    expect(ids(10)).toEqual(['name', 'model', 'score'])
  })
})

describe('a choice of a person', () => {
  it('is kept in the order of the table with the name always there', () => {
    expect(ids(300, ['tokens', 'tags', 'model', 'nonsense'])).toEqual(['name', 'model', 'tokens', 'tags'])
  })

  it('begins with what is shown', () => {
    const shown = COLUMNS.filter((column) => ['name', 'model', 'score'].includes(column.id))
    expect(toggledColumn(shown, 'tags')).toEqual(['name', 'model', 'score', 'tags'])
    expect(toggledColumn(shown, 'model')).toEqual(['name', 'score'])
  })

  it('ignores words that name no column', () => {
    expect(readColumns(['x'])).toEqual([])
    expect(ids(10, ['x'])).toEqual(['name', 'model', 'score'])
  })
})

it('leaves room for the box that selects a row', () => {
  const [name, , , , state] = COLUMNS
  expect(gridTemplate([name, state].filter((column) => column !== undefined))).toBe('32px minmax(150px, 2fr) 122px')
})
