import { expect, test } from 'vitest'
import type { Schema } from '../api/types'
import { count, measure } from '../format'
import { gapsOf, rangeOf, rolesByColumn, typesOf } from './columns'

const TEXT: Schema<'DatasetColumn'> = {
  name: 'q',
  types: { text: 1_200 },
  missing: 0,
  null: 0,
  empty: 0,
  distinct: 3,
  distinct_capped: false,
  lengths: { min: 1, median: 2.5, max: 4_000 },
  range: null,
}

test('one type is named, several are counted', () => {
  expect(typesOf(TEXT)).toBe('text')
  expect(typesOf({ ...TEXT, types: { text: 1_200, integer: 3 } })).toBe(`${count(1_200)} text, 3 integer`)
})

test('gaps say what kind they are', () => {
  expect(gapsOf(TEXT)).toBe('none')
  expect(gapsOf({ ...TEXT, missing: 2, empty: 1 })).toBe('2 missing, 1 empty')
})

test('numbers have a range, texts have lengths', () => {
  expect(rangeOf(TEXT)).toBe(`1 to ${count(4_000)} characters, median ${measure(2.5)}`)
  expect(rangeOf({ ...TEXT, range: { min: -1, max: 2, mean: 0.5 } })).toBe(`${count(-1)} to 2, mean ${measure(0.5)}`)
  expect(rangeOf({ ...TEXT, lengths: null })).toBe('–')
  expect(rangeOf({ ...TEXT, lengths: { min: 1, median: 1, max: 1 } })).toBe('1 character')
  expect(rangeOf({ ...TEXT, range: { min: 3, max: 3, mean: 3 } })).toBe('always 3')
})

test('columns know their role', () => {
  const roles = rolesByColumn({ user_prompt: ['q'], ground_truth: ['a', 'b'] })
  expect([...roles]).toEqual([
    ['q', 'user prompt'],
    ['a', 'ground truth'],
    ['b', 'ground truth'],
  ])
})
