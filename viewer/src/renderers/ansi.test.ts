import { expect, test } from 'vitest'
import { coloursOfWords, hasColours, styled } from './ansi'

test('colours begin, change and end', () => {
  expect(styled('a\u001b[31;1mb\u001b[0mc')).toEqual([
    { text: 'a', look: [] },
    { text: 'b', look: ['bold', 'fg-red'] },
    { text: 'c', look: [] },
  ])
})

test('sequences that move the cursor are dropped, extended colours are skipped whole', () => {
  expect(styled('\u001b[2Ka\u001b[38;5;31mb')).toEqual([
    { text: 'a', look: [] },
    { text: 'b', look: [] },
  ])
})

test('text without colours is recognised', () => {
  expect(hasColours('plain [31m')).toBe(false)
  expect(hasColours('\u001b[31m')).toBe(true)
})

test('colours in words are drawn as colours, so that they shift nothing', () => {
  expect(styled(coloursOfWords('|<magenta>Y</magenta>| <b>x</b>'))).toEqual([
    { text: '|', look: [] },
    { text: 'Y', look: ['fg-magenta'] },
    { text: '| <b>x</b>', look: [] },
  ])
})
