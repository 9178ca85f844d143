import { expect, test } from 'vitest'
import { parsedJson, referenceOf, viewsOf } from './content'

test.each([
  ['# Title', 'text/markdown', 'markdown'],
  ['<b>x</b>', 'text/html; charset=utf-8', 'html'],
  ['iVBORw0KGgo=', 'image/png', 'image'],
  ['a,b\n1,2', 'text/csv', 'table'],
  ['just a line', 'text/csv', 'text'],
  ['--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n', 'text/plain', 'diff'],
  ['####\n#@.#\n####', 'text/plain', 'board'],
  ['{"a":1}', 'text/plain', 'json'],
  ['hello', 'application/json', 'text'],
  ['', '', 'text'],
  [
    [
      ['X', 'O'],
      ['', 'X'],
    ],
    'application/json',
    'board',
  ],
  [
    {
      board: [
        ['X', 'O'],
        ['', 'X'],
      ],
      turn: 'X',
    },
    'application/json',
    'board',
  ],
  [[{ a: 1 }, { a: 2 }], 'application/json', 'table'],
  [{ messages: [{ role: 'user', content: 'x' }] }, 'application/json', 'chat'],
  [{ name: 'f', arguments: {} }, 'application/json', 'tool'],
  [{ url: 'https://example.org/x.png' }, 'image/png', 'image'],
  [{ a: 1 }, 'application/json', 'scene'],
  [{ a: { b: 1 } }, 'application/json', 'json'],
  [{ seat: 'player_0', board: { a: 1 }, legal_actions: ['0', '1'] }, '', 'scene'],
  [{ context: 'The capital of France is', continuations: [' Lyon', ' Paris'] }, '', 'choices'],
  [null, '', 'json'],
  [12, '', 'json'],
])('%j of type %s is shown as %s', (data, type, view) => {
  expect(viewsOf({ data, type })[0]).toBe(view)
})

test('text that looks like Markdown offers it', () => {
  expect(viewsOf({ data: '## Heading\n\ntext', type: 'text/plain' })).toEqual(['text', 'markdown'])
})

test('everything can be seen as text or JSON in the end', () => {
  for (const data of [
    '<b>',
    '# a',
    [
      [1, 2],
      [3, 4],
    ],
    { a: 1 },
  ]) {
    expect(['text', 'json']).toContain(viewsOf({ data, type: 'text/html' }).at(-1))
  }
})

test('a reference is one only when nothing else is in it', () => {
  expect(referenceOf({ $blob: 'abcdef0123', bytes: 5 })).toEqual({ digest: 'abcdef0123', bytes: 5 })
  expect(referenceOf({ $blob: 'abcdef0123', bytes: 5, more: 1 })).toBeNull()
  expect(referenceOf({ $blob: '../../etc/passwd', bytes: 5 })).toBeNull()
  expect(referenceOf([])).toBeNull()
})

test('text that is not JSON is left alone', () => {
  expect(parsedJson('{broken')).toBeUndefined()
  expect(parsedJson('12')).toBeUndefined()
  expect(parsedJson(' [1]')).toEqual([1])
})

test('a named view comes first where it can show the content, however that looks', () => {
  expect(viewsOf({ data: { board: ['·····', '·····'], left: 6 }, type: '' })[0]).toBe('scene')
  expect(viewsOf({ data: { board: ['·····', '·····'], left: 6 }, type: '', named: 'board' })).toEqual([
    'board',
    'scene',
    'json',
  ])
  expect(viewsOf({ data: 'ab\ncd', type: '', named: 'board' })[0]).toBe('board')
  expect(viewsOf({ data: '<p>x</p>', type: '', named: 'html' })[0]).toBe('html')
  expect(viewsOf({ data: 'a,b\n1,2\n3,4', type: '', named: 'table' })[0]).toBe('table')
})

test.each([
  ['board', 'one line'],
  ['board', { left: 6 }],
  ['table', 'no table'],
  ['html', { a: 1 }],
  ['image', 'no picture'],
] as const)('the named view %s is passed over for %j', (named, data) => {
  expect(viewsOf({ data, type: '', named })).toEqual(viewsOf({ data, type: '' }))
})
