import { render, screen } from '@testing-library/react'
import { expect, test } from 'vitest'
import { BoardView } from './BoardView'
import { blocksOf, gridOf } from './grid'
import { tileOf, tileRows } from './tiles'

test('emoji are boards with and without spaces and signs for pictures, from one row on', () => {
  expect(tileRows(['🟩🟨⬛️'])).toEqual([['🟩', '🟨', '⬛']])
  expect(tileRows(['🧱 🧊 🧱', '🧱 🔑 🚪'])).toEqual([
    ['🧱', '🧊', '🧱'],
    ['🧱', '🔑', '🚪'],
  ])
  expect(blocksOf('You see:\n🟩🟨⬛\n⬛⬛🟩\nGuess again')?.map(({ kind }) => kind)).toEqual(['text', 'map', 'text'])
})

test('a word with a mark for each letter is a row of letters on tiles, and dots are empty', () => {
  expect(gridOf(['SLATE 🟩⬛🟨⬛⬛', '·····'])).toEqual([
    ['S🟩', 'L⬛', 'A🟨', 'T⬛', 'E⬛'],
    ['', '', '', '', ''],
  ])
  expect(tileOf('S🟩')).toMatchObject({ letter: 'S', tile: { name: 'green square' } })
})

test.each(['🟩', 'Well done ⭐', 'ab 🟩🟩🟩', '🟩 is right, 🟨 is near', '·····', 'constructor'])(
  '%s is no board',
  (text) => {
    expect(tileRows([text])).toBeNull()
    expect(blocksOf(text)).toBeNull()
  },
)

test('tiles are drawn, yellow has a mark besides its colour, and the text stays to be copied', () => {
  const { container } = render(<BoardView data={['🟩🟨', '⬛🕳️']} />)
  expect(screen.getByRole('table').textContent).toBe('🟩🟨⬛🕳')
  expect(container.querySelectorAll('svg')).toHaveLength(4)
  expect(tileOf('🟨')?.tile.mark).toBeDefined()
  expect(tileOf('🟩')?.tile.mark).toBeUndefined()
})
