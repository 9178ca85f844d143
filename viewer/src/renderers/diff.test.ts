import { expect, test } from 'vitest'
import { difference, isUnified, shortened, unified } from './diff'

const PATCH = '--- a/file.py\n+++ b/file.py\n@@ -1,3 +1,3 @@\n def f():\n-    return 1\n+    return 2\n'

function told(before: string, after: string): string[] {
  const signs = { same: ' ', added: '+', removed: '-', place: '@', file: '#' }
  return difference(before, after).map((line) => signs[line.kind] + line.text)
}

test('a unified diff is recognised and numbered', () => {
  expect(isUnified(PATCH)).toBe(true)
  expect(isUnified('a - list\n+ of things')).toBe(false)
  expect(unified(PATCH).map(({ kind, before, after }) => [kind, before, after])).toEqual([
    ['file', 0, 0],
    ['file', 0, 0],
    ['place', 0, 0],
    ['same', 1, 1],
    ['removed', 2, 0],
    ['added', 0, 2],
  ])
})

test('removed lines that begin with dashes stay inside their hunk', () => {
  const lines = unified('--- a\n+++ b\n@@ -1,2 +1 @@\n--- not a file\n same\n')
  expect(lines.map((line) => line.kind)).toEqual(['file', 'file', 'place', 'removed', 'same'])
})

test('two texts differ in as few lines as possible', () => {
  expect(told('a\nb\nc', 'a\nx\nc')).toEqual([' a', '-b', '+x', ' c'])
  expect(told('a\nb', 'b\nc')).toEqual(['-a', ' b', '+c'])
  expect(told('', 'a')).toEqual(['-', '+a'])
  expect(told('same', 'same')).toEqual([' same'])
})

test('both texts can be read back from the difference', () => {
  const before = 'q\nw\ne\nr\nt\ny\nq\nw'
  const after = 'w\nq\ne\nt\nr\ny\nw\nw\nz'
  const lines = difference(before, after)
  const without = (kind: string) =>
    lines
      .filter((line) => line.kind !== kind)
      .map((line) => line.text)
      .join('\n')
  expect(without('added')).toBe(before)
  expect(without('removed')).toBe(after)
})

test('the changed words of a replaced line are marked', () => {
  const [removed] = difference('move to the left now', 'move to the right now')
  expect(removed?.words?.filter((word) => word.changed).map((word) => word.text)).toEqual(['left'])
})

test('texts that differ everywhere are shown as replaced, without taking for ever', () => {
  const before = Array.from({ length: 4_000 }, (_, n) => `a${n}`).join('\n')
  const after = Array.from({ length: 4_000 }, (_, n) => `b${n}`).join('\n')
  expect(difference(before, after)).toHaveLength(8_000)
})

test('long stretches of same lines are shortened', () => {
  const same = Array.from({ length: 20 }, (_, n) => `${n}`).join('\n')
  const lines = shortened(difference(same, `${same}\nnew`))
  expect(lines.map((line) => line.text)).toEqual(['17 same lines', '17', '18', '19', 'new'])
})
