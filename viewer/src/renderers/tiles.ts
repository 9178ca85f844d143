/** Emoji that boards are made of, as marks of our own: fonts may lack them, and their colours differ between systems. */

/** What a tile looks like, on 16 units: a body in a colour and a mark on it. */
export interface Tile {
  /** What it is called where it cannot be seen. */
  name: string
  body?: 'square' | 'circle'
  /** The colour of the body, or of the mark where there is no body. */
  colour: string
  /** Lines over the body; also tell colours apart. */
  mark?: string
  /** Whether the mark is filled. */
  solid?: boolean
}

const RED = '#c8382f'
const ORANGE = '#d97a1a'
const YELLOW = '#8a6400'
const GREEN = '#14703f'
const BLUE = '#2063b8'
const PURPLE = '#7346b0'
const BROWN = '#7a4a28'
const BLACK = '#4a5557'
const WHITE = '#f4f6f5'
const GREY = '#7c8a86'

/** A mark for each colour: what is yellow has a line below, what is red is crossed, ... */
const COLOURS: Record<string, [string, string | undefined]> = {
  red: [RED, 'M5 5l6 6M11 5l-6 6'],
  orange: [ORANGE, 'M4 4h8'],
  yellow: [YELLOW, 'M4 12.6h8'],
  green: [GREEN, undefined],
  blue: [BLUE, 'M8 7.4v1.2'],
  purple: [PURPLE, 'M8 5a3 3 0 1 0 0 6a3 3 0 0 0 0-6z'],
  brown: [BROWN, 'M4 6h8M4 10h8'],
  black: [BLACK, undefined],
  white: [WHITE, undefined],
}

const MARKS: Record<string, Tile> = {}

function put(signs: string, tile: Tile): void {
  for (const sign of signs.split(' ')) MARKS[sign] = tile
}

function colours(body: 'square' | 'circle', signs: Record<string, string>): void {
  for (const [sign, name] of Object.entries(signs)) {
    const [colour = GREY, mark] = COLOURS[name] ?? []
    MARKS[sign] = { name: `${name} ${body}`, body, colour, mark }
  }
}

colours('square', {
  ...{ '🟥': 'red', '🟧': 'orange', '🟨': 'yellow', '🟩': 'green', '🟦': 'blue', '🟪': 'purple', '🟫': 'brown' },
  ...{ '⬛': 'black', '◼': 'black', '◾': 'black', '▪': 'black', '🔲': 'black' },
  ...{ '⬜': 'white', '◻': 'white', '◽': 'white', '▫': 'white', '🔳': 'white' },
})
colours('circle', {
  ...{ '🔴': 'red', '🟠': 'orange', '🟡': 'yellow', '🟢': 'green', '🔵': 'blue', '🟣': 'purple', '🟤': 'brown' },
  ...{ '⚫': 'black', '⚪': 'white' },
})

const UP = 'M8 13V3M4 7l4-4 4 4'
const DOWN = 'M8 3v10M4 9l4 4 4-4'
const LEFT = 'M13 8H3M7 4 3 8l4 4'
const RIGHT = 'M3 8h10M9 4l4 4-4 4'
put('⬆ 🔼 ▲ 🔺', { name: 'up', colour: BLUE, mark: UP })
put('⬇ 🔽 ▼ 🔻', { name: 'down', colour: BLUE, mark: DOWN })
put('⬅ ◀', { name: 'left', colour: BLUE, mark: LEFT })
put('➡ ▶', { name: 'right', colour: BLUE, mark: RIGHT })
put('↗', { name: 'up right', colour: BLUE, mark: 'M4 12 12 4M6 4h6v6' })
put('↘', { name: 'down right', colour: BLUE, mark: 'M4 4l8 8M12 6v6H6' })
put('↙', { name: 'down left', colour: BLUE, mark: 'M12 4l-8 8M4 6v6h6' })
put('↖', { name: 'up left', colour: BLUE, mark: 'M12 12 4 4M4 10V4h6' })
put('🧱', {
  name: 'wall',
  body: 'square',
  colour: '#a4543a',
  mark: 'M1 5.5h14M1 10.5h14M8 1v4.5M4.5 5.5v5M11.5 5.5v5M8 10.5V15',
})
put('🪨 🗿', { name: 'rock', colour: GREY, solid: true, mark: 'M3 12l1.5-6L8 3.5 12 6l1.5 6z' })
put('🧑 👤 🙂 😀 😃 🚶 🧍 👷 🦸 🏃 👨 👩 🧙', {
  name: 'player',
  colour: BLUE,
  solid: true,
  mark: 'M8 2.5a2.5 2.5 0 1 0 0 5a2.5 2.5 0 0 0 0-5zM3.5 14c0-3.5 2-5.5 4.5-5.5s4.5 2 4.5 5.5z',
})
put('🤖', {
  name: 'robot',
  colour: BLUE,
  mark: 'M3.5 6h9v7h-9zM8 6V3M6.2 9.2v.1M9.8 9.2v.1M6.5 11.3h3M1.8 9v2M14.2 9v2',
})
put('🏁 🚩 ⛳', { name: 'goal', colour: GREEN, mark: 'M4.5 14V2.5h8l-2 3 2 3h-8' })
put('🎯', {
  name: 'target',
  colour: RED,
  mark: 'M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 0 0 0-11zM8 5.5a2.5 2.5 0 1 0 0 5a2.5 2.5 0 0 0 0-5zM8 7.9v.2',
})
put('🧊 ❄', {
  name: 'ice',
  body: 'square',
  colour: '#4a9cc9',
  mark: 'M8 3v10M3.7 5.5l8.6 5M12.3 5.5l-8.6 5',
})
put('🕳', {
  name: 'hole',
  colour: '#2b3331',
  solid: true,
  mark: 'M8 4.5c3.5 0 6 1.6 6 3.5s-2.5 3.5-6 3.5S2 9.9 2 8s2.5-3.5 6-3.5z',
})
put('🔥', {
  name: 'fire',
  colour: ORANGE,
  solid: true,
  mark: 'M8.5 1.5c.5 2.5 4 4.5 4 8a4.5 4.5 0 0 1-9 0c0-2 1-3.200 2-4.200 0 1.200.5 2 1.500 2.200-.5-2 0-4.500 1.500-6z',
})
put('⭐ 🌟', {
  name: 'star',
  colour: '#c48a00',
  solid: true,
  mark: 'M8 1.8l1.9 4 4.300.6-3.100 3 .8 4.300L8 11.600l-3.900 2.100.8-4.300-3.100-3 4.300-.6z',
})
put('🔑 🗝', {
  name: 'key',
  colour: '#b07a00',
  mark: 'M5.500 7.500a2.800 2.800 0 1 0 0 .1zM5.500 7.500H14v3M11 7.500v2.500',
})
put('🚪', { name: 'door', colour: BROWN, mark: 'M4 14V2.500h8V14M2.500 14h11M9.800 8.500v.1' })
put('🌲 🌳 🎄', { name: 'tree', colour: GREEN, solid: true, mark: 'M8 1.500 3 11h4v3h2v-3h4z' })
put('🌊 💧', {
  name: 'water',
  body: 'square',
  colour: BLUE,
  mark: 'M2.500 6.500c1.800-2 3.700 2 5.500 0s3.700 2 5.500 0M2.500 10.500c1.800-2 3.700 2 5.500 0s3.700 2 5.500 0',
})
put('💎', {
  name: 'gem',
  colour: '#1a8fb0',
  mark: 'M4.500 3h7l2.500 3.500L8 13.500 2 6.500zM2 6.500h12M6 6.500l2 7 2-7',
})
put('🪙 💰', { name: 'coin', colour: '#b07a00', mark: 'M8 2.500a5.500 5.500 0 1 0 0 11a5.500 5.500 0 0 0 0-11zM8 5v6' })
put('📦', {
  name: 'box',
  colour: BROWN,
  mark: 'M2.500 5 8 2.500 13.500 5v6.500L8 14l-5.500-2.500zM2.500 5 8 7.500 13.500 5M8 7.500V14',
})
put('💣 🧨', {
  name: 'bomb',
  colour: '#2b3331',
  solid: true,
  mark: 'M7 5.500a4.300 4.300 0 1 0 0 8.600a4.300 4.300 0 0 0 0-8.600zM9.500 6l2-2.500L13.500 3l-1.500 1.500L10.300 7z',
})
put('💀 ☠', {
  name: 'skull',
  colour: GREY,
  mark: 'M8 2.500c-3 0-5 2-5 4.500 0 1.800 1 3 2 3.700V13h6v-2.300c1-.7 2-1.900 2-3.700 0-2.500-2-4.500-5-4.500zM6 7v.2M10 7v.2M8 11v2',
})
put('👻 👾 👹', {
  name: 'monster',
  colour: PURPLE,
  mark: 'M3.500 13.500V7a4.500 4.500 0 0 1 9 0v6.500l-1.500-1.200-1.500 1.200-1.500-1.200-1.500 1.200-1.500-1.200zM6.300 7v.2M9.700 7v.2',
})
put('🍎 🍏 🍒', {
  name: 'fruit',
  colour: RED,
  solid: true,
  mark: 'M8 5.500c-2-1.500-5-.5-5 3s2.500 5.500 5 4.800c2.500.7 5-1.300 5-4.800s-3-4.500-5-3zM8 5.500c0-1.500.8-2.700 2-3',
})
put('🐍', {
  name: 'snake',
  colour: GREEN,
  mark: 'M3 12.500h7a2.300 2.300 0 0 0 0-4.500H6a2.300 2.300 0 0 1 0-4.500h6M12.500 3.500v.1',
})
put('❤ 💖', {
  name: 'heart',
  colour: RED,
  solid: true,
  mark: 'M8 13.500C3 10 2 7.800 2 6a3 3 0 0 1 6-1 3 3 0 0 1 6 1c0 1.800-1 4-6 7.500z',
})
put('❌ ✖', { name: 'cross', colour: RED, mark: 'M4 4l8 8M12 4l-8 8' })
put('⭕', { name: 'ring', colour: RED, mark: 'M8 3a5 5 0 1 0 0 10a5 5 0 0 0 0-10z' })
put('✅ ✔', { name: 'check', colour: GREEN, mark: 'M3 8.500 6.500 12 13 4.500' })
put('❓ ❔', {
  name: 'question',
  colour: PURPLE,
  mark: 'M5.500 6a2.500 2.500 0 1 1 3.500 2.300c-.7.3-1 .8-1 1.700M8 12.800v.1',
})

/** How a sign is written that is drawn as a picture. */
const PICTURE = /[\ufe0e\ufe0f]/g

/** The mark for a cell: an emoji, or a letter on one (`A🟩`); nothing for anything else. */
export function tileOf(cell: string): { tile: Tile; letter: string } | undefined {
  const plain = cell.replace(PICTURE, '').trim()
  const alone = Object.hasOwn(MARKS, plain) ? MARKS[plain] : undefined
  if (alone !== undefined) return { tile: alone, letter: '' }
  const [letter = '', ...rest] = plain
  const below = rest.join('')
  const tile = Object.hasOwn(MARKS, below) ? MARKS[below] : undefined
  return tile?.body === 'square' && /^[\p{L}\p{N}]$/u.test(letter) ? { tile, letter } : undefined
}

/**
 * Rows of a board that is made of emoji: only of them, with or without spaces between, or a word and a mark for each of its
 * letters (`SLATE 🟩⬛🟨⬛⬛`); rows of dots are empty. Null if it is no such board.
 */
export function tileRows(rows: readonly string[]): string[][] | null {
  const cells = rows.map(tileRow)
  const width = cells[0]?.length ?? 0
  if (width < 2 || cells.some((row) => row?.length !== width)) return null
  const found = cells as string[][]
  return found.some((row) => row.every((cell) => tileOf(cell) !== undefined)) ? found : null
}

function tileRow(row: string): string[] | null {
  const signs = [...row.replace(PICTURE, '').trim()]
  if (signs.length > 0 && signs.every((sign) => EMPTY.test(sign))) return signs.map(() => '')
  const marks = signs.filter((sign) => sign !== ' ')
  if (marks.length > 0 && marks.every((sign) => Object.hasOwn(MARKS, sign))) return marks
  const [word = '', below = '', ...more] = row.replace(PICTURE, '').trim().split(/\s+/)
  const [letters, tiles] = [[...word], [...below]]
  const fits = more.length === 0 && letters.length === tiles.length
  return fits && tiles.every((sign, at) => tileOf(`${letters[at]}${sign}`))
    ? letters.map((one, at) => `${one}${tiles[at]}`)
    : null
}

const EMPTY = /[·._]/
