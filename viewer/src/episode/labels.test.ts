import { expect, it } from 'vitest'
import { kindName } from './labels'

it.each([
  ['model_call', 'Model'],
  ['a_kind_of_tomorrow', 'a kind of tomorrow'],
  ['constructor', 'constructor'],
])('the kind %s is called %s', (kind, name) => {
  expect(kindName(kind)).toBe(name)
})
