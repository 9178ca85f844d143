import { expect, it } from 'vitest'
import { modelText, modelWords } from './model'

it.each([
  ['openai/small@http://127.0.0.1:8771/v1', { name: 'openai/small', server: '127.0.0.1:8771' }],
  ['builtin/random', { name: 'builtin/random', server: '' }],
  ['me@home', { name: 'me@home', server: '' }],
  ['', { name: '', server: '' }],
])('%s', (model, words) => {
  expect(modelWords(model)).toEqual(words)
})

it('is told in one line', () => {
  expect(modelText('openai/small@http://127.0.0.1:8771/v1')).toBe('openai/small at 127.0.0.1:8771')
  expect(modelText('builtin/random')).toBe('builtin/random')
})
