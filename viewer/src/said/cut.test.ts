import { expect, test } from 'vitest'
import { cut } from './Snippet'

test('marks count code points, also after signs of two units', () => {
  expect(cut({ snippet: '🟩 per week', marks: [[2, 5]] })).toEqual([
    { text: '🟩 ', found: false, at: 0 },
    { text: 'per', found: true, at: 2 },
    { text: ' week', found: false, at: 5 },
  ])
})

test('the first mark is near the beginning', () => {
  expect(cut({ snippet: 'a long way to the word', marks: [[18, 22]] }, 4).map(({ text }) => text)).toEqual([
    '…the ',
    'word',
  ])
})
