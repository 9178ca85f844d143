import { expect, test } from 'vitest'
import { nameFault, namesIn } from './names'

test('names that a variable can have are taken', () => {
  expect(nameFault('OPENAI_API_KEY')).toBeUndefined()
  for (const name of ['', 'openai', '1A', 'A-B', 'A'.repeat(129)]) expect(nameFault(name)).toBeDefined()
})

test('names are found in lists and in configurations', () => {
  expect(namesIn('A_KEY, B2 A_KEY')).toEqual(['A_KEY', 'B2'])
  expect(namesIn('required = ["A_KEY", "B_KEY"]')).toEqual(['A_KEY', 'B_KEY'])
  expect(namesIn('')).toEqual([])
})
