import { expect, test } from 'vitest'
import { blocksOf, changes, framedGrid, gridOf } from './grid'

const MAZE = '#####\n#@.k#\n#..G#\n#####'

test('a list of lists of short values is a board', () => {
  expect(
    gridOf([
      ['X', null],
      [1, true],
    ]),
  ).toEqual([
    ['X', ''],
    ['1', '✓'],
  ])
})

test.each([
  [[[1, 2]]],
  [[[1, 2], [1]]],
  [
    [
      [{}, 1],
      [1, 2],
    ],
  ],
  [
    [
      ['a long sentence', 'b'],
      ['c', 'd'],
    ],
  ],
  ['text'],
])('%j is no board', (data) => {
  expect(gridOf(data)).toBeNull()
})

test('a map in text is a board, with what is said around it', () => {
  const blocks = blocksOf(`${MAZE}\n\nYou carry nothing. Steps left: 60.`)
  expect(blocks?.map((block) => block.kind)).toEqual(['map', 'text'])
  expect(blocks?.[0]).toMatchObject({
    grid: [['#', '#', '#', '#', '#'], expect.anything(), expect.anything(), expect.anything()],
  })
})

test.each(['one line', 'some\nmore\ntext', 'abc def\nghi jkl\nmno pqr', '123\n456\n789'])('%j is no map', (text) => {
  expect(blocksOf(text)).toBeNull()
})

test('a board inside an object is found with the rest of the object', () => {
  const found = framedGrid({
    turn: 'O',
    board: [
      ['X', 'O'],
      ['', 'X'],
    ],
  })
  expect(found).toMatchObject({ key: 'board', rest: { turn: 'O' } })
  expect(framedGrid({ map: MAZE })?.grid).toHaveLength(4)
})

test('changes are the cells that differ; boards of another size have none', () => {
  const before = [
    ['a', 'b'],
    ['c', 'd'],
  ]
  expect([
    ...changes(before, [
      ['a', 'x'],
      ['c', 'y'],
    ]),
  ]).toEqual([1, 3])
  expect(changes(before, [['a', 'b', 'c']]).size).toBe(0)
})
