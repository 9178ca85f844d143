import { expect, test } from 'vitest'
import { choicesOf, likelihoodsOf, mostProbable } from './choices'

test('a text with continuations is a question with choices', () => {
  expect(choicesOf({ context: 'France is', continuations: [' big'] })).toEqual({
    context: 'France is',
    continuations: [' big'],
  })
  expect(choicesOf({ context: 'France is', continuations: [] })).toBeNull()
  expect(choicesOf({ context: 'France is', continuations: [' big'], more: 1 })).toBeNull()
})

test('the least negative log-probability is the most probable', () => {
  const found = likelihoodsOf([[[-5.9, false]], [[-1.9, true]], [[-0.9, false]]])
  expect(found).toHaveLength(3)
  expect(mostProbable(found ?? [])).toBe(2)
})

test('replies of other kinds are no likelihoods', () => {
  expect(likelihoodsOf([['four']])).toBeNull()
  expect(
    likelihoodsOf([
      [
        [-1, true],
        [-2, true],
      ],
    ]),
  ).toBeNull()
  expect(likelihoodsOf([])).toBeNull()
})
