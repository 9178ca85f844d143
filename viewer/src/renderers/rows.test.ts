import { expect, test } from 'vitest'
import { rowsOf, rowsOfText } from './rows'

test('objects with common fields are rows', () => {
  expect(rowsOf([{ a: 1, b: 2 }, { a: 3 }])).toEqual({
    columns: ['a', 'b'],
    rows: [
      [1, 2],
      [3, undefined],
    ],
    more: false,
  })
})

test('objects with nothing in common, and other lists, are no table', () => {
  expect(rowsOf([{ a: 1 }, { b: 1 }, { c: 1 }])).toBeNull()
  expect(rowsOf([1, 2])).toBeNull()
  expect(rowsOf([{ a: 1 }])).toBeNull()
})

test('separated text follows RFC 4180: quotes, doubled quotes, line feeds in fields', () => {
  expect(rowsOfText('name,score\n"be,ta",0.5\r\n"say ""hi""\nthere",1\n')).toEqual({
    columns: ['name', 'score'],
    rows: [
      ['be,ta', '0.5'],
      ['say "hi"\nthere', '1'],
    ],
    more: false,
  })
})

test('an empty last field, a missing one, too many, and an open quote are survived', () => {
  expect(rowsOfText('a,b\n1,\n2\n3,4,5\n"x')?.rows).toEqual([
    ['1', ''],
    ['2', undefined],
    ['3', '4,5'],
    ['x', undefined],
  ])
})

test('a single column is text', () => {
  expect(rowsOfText('a\nb\nc')).toBeNull()
})

test('of very many rows a beginning is taken', () => {
  const found = rowsOfText(`a,b\n${'1,2\n'.repeat(50)}`, ',', 10)
  expect(found?.rows).toHaveLength(10)
  expect(found?.more).toBe(true)
})
