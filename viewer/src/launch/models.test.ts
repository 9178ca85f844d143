import { expect, it } from 'vitest'
import { modelOptions, patternOf } from './models'

const offer = (name: string, more = {}) => ({
  name,
  title: '',
  provider: '',
  guests: false,
  full_bench: false,
  available: true,
  reason: '',
  ...more,
})
const MODELS = [
  offer('builtin/random', { guests: true, title: 'Random actions' }),
  offer('openai/gpt-4o', { available: false, reason: 'there is no key' }),
  offer('ollama/*'),
]

it('says why a model cannot be chosen', () => {
  expect(modelOptions(MODELS, 'builtin/random', true)).toEqual([
    { value: 'builtin/random', label: 'builtin/random (Random actions)', disabled: false },
    { value: 'openai/gpt-4o', label: 'openai/gpt-4o: there is no key', disabled: true },
    { value: 'ollama/*', label: 'ollama/*: for members', disabled: true },
  ])
})

it('keeps a name that a link brought along', () => {
  expect(modelOptions(MODELS, 'other/one', false).at(-1)).toEqual({
    value: 'other/one',
    label: 'other/one',
    disabled: false,
  })
})

it('finds the pattern that a name belongs to', () => {
  expect(patternOf(MODELS, 'ollama/llama3')?.name).toBe('ollama/*')
  expect(patternOf(MODELS, 'openai/gpt-4o')).toBeUndefined()
  expect(patternOf(MODELS, '')).toBeUndefined()
})
