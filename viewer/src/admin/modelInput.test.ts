import { expect, test } from 'vitest'
import type { Schema } from '../api/types'
import { draftInput, draftOf, draftProblems, inputOf } from './modelInput'

const MODEL = {
  name: 'house/tiny',
  served_as: 'openai/tiny@http://10.0.0.7:8000/v1',
  title: 'Tiny',
  price: { input: 1, output: 2 },
  own_price: true,
  parallel: 8,
  workspaces: [{ id: 'w-1', name: 'reefs' }],
  guests: false,
  full_bench: true,
  disabled: false,
} as unknown as Schema<'ManagedModelDocument'>

test('a model that is sent as it is keeps its key', () => {
  expect(inputOf(MODEL)).toEqual({
    served_as: 'openai/tiny@http://10.0.0.7:8000/v1',
    key: null,
    title: 'Tiny',
    price: { input: 1, output: 2 },
    parallel: 8,
    workspaces: ['w-1'],
    guests: false,
    full_bench: true,
    disabled: false,
  })
})

test('a price of the table is not made the model’s own', () => {
  expect(inputOf({ ...MODEL, own_price: false }).price).toBeNull()
})

test('a key is set, kept or removed', () => {
  const draft = draftOf(MODEL)
  expect(draftInput({ ...draft, key: ' sk-1 ' }).key).toBe('sk-1')
  expect(draftInput(draft).key).toBeNull()
  expect(draftInput({ ...draft, forget: true, key: 'sk-1' }).key).toBe('')
})

test('what is wrong is told at its field', () => {
  const found = draftProblems({ ...draftOf(undefined), name: 'tiny', input: '1', parallel: '0' })
  expect(Object.keys(found).sort()).toEqual(['name', 'output', 'parallel'])
  expect(draftProblems(draftOf(MODEL))).toEqual({})
})
