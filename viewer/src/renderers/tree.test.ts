import { expect, test } from 'vitest'
import { firstOpen, openFor, pathText, treeRows } from './tree'

test('closed places have no rows inside', () => {
  const value = { a: { b: 1 }, c: [1, 2] }
  expect(treeRows(value, new Set()).map((row) => row.label)).toEqual([''])
  expect(treeRows(value, new Set([''])).map((row) => row.label)).toEqual(['', 'a', 'c'])
  expect(treeRows(value, new Set(['', 'a'])).map((row) => [row.id, row.depth])).toEqual([
    ['', 0],
    ['a', 1],
    ['a.b', 2],
    ['c', 1],
  ])
})

test('long lists are opened a hundred entries at a time', () => {
  const value = Array.from({ length: 250 }, (_, n) => n)
  const rows = treeRows(value, new Set(['']))
  expect(rows.map((row) => row.label)).toEqual(['', '0 … 99', '100 … 199', '200 … 249'])
  const group = rows[3]?.id ?? ''
  expect(treeRows(value, new Set(['', group]))).toHaveLength(4 + 50)
})

test('a million entries make no million rows', () => {
  const value = { list: Array.from({ length: 1_000_000 }, () => 0) }
  expect(treeRows(value, firstOpen(value)).length).toBeLessThan(50)
})

test('only as much is open at first as fits', () => {
  expect([...firstOpen({ a: { b: { c: { d: 1 } } } })]).toEqual(['', 'a', 'a.b'])
  const wide = Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`k${n}`, n]))
  expect(firstOpen({ wide, small: { x: 1 } }).has('wide')).toBe(false)
  expect(firstOpen({ wide, small: { x: 1 } }).has('small')).toBe(true)
})

test('what is searched for is opened, in groups as well', () => {
  const value = { list: Array.from({ length: 150 }, (_, n) => ({ n: n === 120 ? 'needle' : n })) }
  const rows = treeRows(value, openFor(value, 'NEEDLE'))
  expect(rows.some((row) => row.value === 'needle')).toBe(true)
})

test('paths are written as programs write them', () => {
  expect(pathText(['board', 0, 'a b', 'x'])).toBe('board[0]["a b"].x')
  expect(pathText([2])).toBe('[2]')
})
