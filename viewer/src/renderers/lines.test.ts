import { expect, test } from 'vitest'
import { countLines, head, lineAt, lineIndex, tail } from './lines'

test('long lines go on in a next one without a number', () => {
  const text = `${'a'.repeat(25)}\nb`
  const index = lineIndex(text, 10)
  expect(index.numbers).toEqual([1, 0, 0, 2])
  expect(index.numbers.map((_, line) => lineAt(text, index, line)).join('|')).toBe(
    `${'a'.repeat(10)}|${'a'.repeat(10)}|${'a'.repeat(5)}|b`,
  )
})

test('empty lines and a last line feed are kept apart', () => {
  const text = 'a\n\nb\n'
  const index = lineIndex(text)
  expect(index.numbers.map((_, line) => lineAt(text, index, line))).toEqual(['a', '', 'b'])
})

test('a surrogate pair is never cut in two', () => {
  const text = `${'a'.repeat(9)}\ud83d\ude00`
  const index = lineIndex(text, 10)
  expect(lineAt(text, index, 0)).toBe('a'.repeat(9))
  expect(lineAt(text, index, 1)).toBe('\ud83d\ude00')
})

test('two million letters in one line are cut in pieces, no more than the limit', () => {
  const index = lineIndex('A'.repeat(2_000_000), 240, 1_000)
  expect(index.numbers).toHaveLength(1_000)
  expect(index.more).toBe(true)
})

test('a beginning and an end hold as many lines as asked', () => {
  const text = 'one\ntwo\nthree\nfour\n'
  expect(head(text, 2, 100)).toBe('one\ntwo')
  expect(tail(text, 2, 100)).toBe('three\nfour')
  expect(tail('short', 5, 100)).toBe('short')
  expect(tail(text, 4, 7)).toBe('ee\nfour')
  expect(countLines(text)).toBe(4)
})
