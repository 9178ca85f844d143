import { expect, it } from 'vitest'
import { shellWord } from './shell'

it.each([
  ['openai/gpt-4o-mini', 'openai/gpt-4o-mini'],
  ['two words', "'two words'"],
  ['', "''"],
  ["it's", "'it'\\''s'"],
  ['$(rm)', "'$(rm)'"],
])('writes %s as %s', (word, written) => {
  expect(shellWord(word)).toBe(written)
})
