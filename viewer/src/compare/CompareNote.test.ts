import { expect, it } from 'vitest'
import { noteWords } from './CompareNote'

const labels = new Map([
  ['3f0c-1', { letter: 'A', name: 'small', colour: '' }],
  ['b0c7-2', { letter: 'B', name: 'large', colour: '' }],
])

it('calls runs by their letters, also at the beginning of a sentence', () => {
  const note = 'B0c7-2 is still going on. 3f0c-1 and b0c7-2 share 3 tasks.'
  expect(noteWords({ note, same_content: true }, labels)).toBe('B is still going on. A and B share 3 tasks.')
})

it('says first that the content differs', () => {
  const note = '3f0c-1 is going on. The runs used different content of the benchmark. The metric is a median.'
  expect(noteWords({ note, same_content: false }, labels)).toBe(
    'The runs used different content of the benchmark. A is going on. The metric is a median.',
  )
})

it('leaves everything else as it is', () => {
  expect(noteWords({ note: '', same_content: false }, labels)).toBe('')
  expect(noteWords({ note: 'No metric in common.', same_content: false }, labels)).toBe('No metric in common.')
})
