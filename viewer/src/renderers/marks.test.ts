import { expect, test } from 'vitest'
import { brief, cut, pieces, plain } from './marks'

test('control characters are pieces of their own with a name', () => {
  expect(pieces('a\u0000b')).toEqual([
    { text: 'a' },
    { text: '⟪NUL⟫', mark: 'U+0000 control character' },
    { text: 'b' },
  ])
})

test('overrides of the writing direction never reach the page', () => {
  const shown = plain('safe \u202egnp.exe\u202c \u2066x\u2069')
  expect(shown).not.toMatch(/[\u202a-\u202e\u2066-\u2069]/)
  expect(shown).toContain('⟪RLO⟫')
})

test('tabs, line feeds and Windows line ends are ordinary text', () => {
  expect(pieces('a\tb\nc\r\nd').every((piece) => piece.mark === undefined)).toBe(true)
})

test('halves of surrogate pairs are shown as damage, whole pairs as what they are', () => {
  expect(plain('\ud83d\ude00')).toBe('\ud83d\ude00')
  expect(pieces('\ud83d!')[0]).toEqual({ text: '\ufffd', mark: 'U+D83D half of a surrogate pair' })
})

test('a summary is one line and never ends in half a character', () => {
  expect(brief('a\n b\u0007', 10)).toBe('a b⟪BEL⟫')
  expect(cut('ab\ud83d\ude00', 3)).toBe('ab')
  expect(brief('x'.repeat(500), 20)).toHaveLength(21)
})
