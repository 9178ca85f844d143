import { expect, test } from 'vitest'
import { isFlat, sceneOf } from './scene'

const PNG = btoa(`\u0089PNG\r\n\u001a\n${'0'.repeat(60)}`)

test('pictures and legal actions of an observation stand apart from its other fields', () => {
  expect(sceneOf({ seat: 'player_0', image: PNG, legal_actions: ['0', 3, { row: 1 }] })).toEqual({
    pictures: [{ name: 'image', data: PNG }],
    legal: ['0', '3', '{"row":1}'],
    rest: { seat: 'player_0' },
  })
})

test('an agent that may do nothing is told apart from one that is not told what it may do', () => {
  expect(sceneOf({ legal_actions: [] })?.legal).toEqual([])
  expect(sceneOf({ image: PNG })?.legal).toBeNull()
})

test('an object without pictures and legal actions is no scene', () => {
  expect(sceneOf({ x: 1, note: 'a'.repeat(100) })).toBeNull()
  expect(sceneOf({ legal_actions: 'any' })).toBeNull()
  expect(sceneOf([PNG])).toBeNull()
})

test('an object is flat if every value stands on a line', () => {
  expect(isFlat({ x: 0, y: 1, message: 'Keep going', goal: [4, 4] })).toBe(true)
  expect(isFlat({ text: 'one\ntwo' })).toBe(false)
  expect(isFlat({ inside: { x: 1 } })).toBe(false)
  expect(isFlat({ list: [{ x: 1 }] })).toBe(false)
  expect(isFlat({})).toBe(false)
})
