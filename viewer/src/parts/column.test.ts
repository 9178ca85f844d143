import { expect, it } from 'vitest'
import { type Column, direction, fitting, pressed, template } from './column'

const column = (key: string, width: number, priority?: number): Column<string> => ({
  key,
  header: key,
  width,
  priority,
  render: (row) => row,
})
const COLUMNS = [
  column('name', 200),
  column('score', 100),
  column('cost', 100, 3),
  column('when', 100, 2),
  column('tag', 100, 3),
]
const keysOf = (width: number) => fitting(COLUMNS, width).map((one) => one.key)

it('keeps every column while there is room or the width is not known yet', () => {
  expect(keysOf(600)).toHaveLength(5)
  expect(keysOf(0)).toHaveLength(5)
})

it('drops columns from the least important one on and never the important ones', () => {
  expect(keysOf(500)).toEqual(['name', 'score', 'cost', 'when'])
  expect(keysOf(450)).toEqual(['name', 'score', 'when'])
  expect(keysOf(50)).toEqual(['name', 'score'])
})

it('writes widths for the grid', () => {
  expect(template([{ width: 40 }, { width: 200, grow: 2 }])).toBe('40px minmax(200px, 2fr)')
})

it('turns the direction of a column around when it is pressed again', () => {
  expect(pressed(undefined, 'score', true)).toBe('-score')
  expect(pressed('-score', 'score', true)).toBe('score')
  expect(pressed('name', 'score', false)).toBe('score')
  expect(direction('-score', 'score')).toBe('descending')
})
