import { expect, it } from 'vitest'
import { exampleOf, parametersOf, parameterWords } from './techniques'

const SCHEMA = {
  type: 'object',
  properties: {
    window_size: { type: 'integer', default: 10 },
    summarize_after: { anyOf: [{ type: 'integer' }, { type: 'null' }], default: null },
    roles: { type: 'object' },
  },
}

it('tells what a technique can be told', () => {
  const found = parametersOf(SCHEMA)
  expect(parameterWords(found)).toBe('window_size (integer, 10); summarize_after (integer); roles (object)')
  expect(exampleOf(found)).toBe('{"window_size":10}')
})

it('knows nothing of a technique without a schema', () => {
  expect(parametersOf(null)).toEqual([])
  expect(parametersOf({ window: 3 })).toEqual([])
  expect(exampleOf([])).toBe('{}')
})
