import { expect, it } from 'vitest'
import { changedTags, commonTags, readTags } from './tags'

it('reads tags between commas', () => {
  expect(readTags(' sweep, nightly ,,sweep')).toEqual(['sweep', 'nightly'])
})

it('adds and takes away without repeating', () => {
  expect(changedTags(['a', 'b'], ['b', 'c'], ['a'])).toEqual(['b', 'c'])
})

it('knows which tags all runs have and which only some', () => {
  expect(commonTags([{ tags: ['a', 'b'] }, { tags: ['b', 'c'] }])).toEqual({ all: ['b'], some: ['a', 'c'] })
})
