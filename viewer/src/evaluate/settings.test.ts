import { expect, it } from 'vitest'
import { readSettings, settingsText } from './settings'

it('reads numbers, switches, texts and lists', () => {
  const text =
    'evaluation.pass_threshold = 0.5\n\nmodel.judge = openai/gpt-5\n a.b.c = true \nenv.WORDS = "1.0"\nx.y = ["a"]'
  expect(readSettings(text)).toEqual({
    'evaluation.pass_threshold': 0.5,
    'model.judge': 'openai/gpt-5',
    'a.b.c': true,
    'env.WORDS': '1.0',
    'x.y': ['a'],
  })
})

it('writes what reads the same', () => {
  const settings = {
    'a.b': 'two words',
    'a.c': '1.0',
    'a.d': 3,
    'a.e': '',
    'a.f': ' x',
    'a.g': null,
    'a.h': 'one\ntwo',
  }
  expect(readSettings(settingsText(settings))).toEqual(settings)
})

it.each([
  ['limit = 3', 'is no setting'],
  ['evaluation.n', 'is no setting'],
  ['a.b = 1\na.b = 2', 'there twice'],
])('refuses %s', (text, words) => {
  expect(() => readSettings(text)).toThrow(words)
})
