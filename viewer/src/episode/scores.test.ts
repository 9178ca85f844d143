import { expect, test } from 'vitest'
import { scoresOf } from './scores'

test('scores keep what is missing apart from what is 0', () => {
  expect(
    scoresOf([
      { name: 'acc', value: 0 },
      { name: 'f1', value: null, missing: 'grader_error' },
    ]),
  ).toEqual([
    { name: 'acc', value: 0, missing: '', explanation: '' },
    { name: 'f1', value: null, missing: 'grader_error', explanation: '' },
  ])
})

test('what environments call scores are fields like others', () => {
  expect(scoresOf({ reward_as_player_0: -1 })).toBeNull()
  expect(scoresOf([1, 2])).toBeNull()
  expect(scoresOf([{ name: 'acc', value: 'C' }])).toBeNull()
})
