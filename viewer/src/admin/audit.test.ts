import { expect, test } from 'vitest'
import { detailWords, shortObject } from './audit'

test('the id of an object is as short as everywhere else', () => {
  expect(shortObject('environment:01a200cb-bdd7-7fb2-b9aa-fefbdc0477f0')).toBe('environment:01a200cb-bdd7')
  expect(shortObject('user:1')).toBe('user:1')
})

test('circumstances are words, and those without a value are left out', () => {
  expect(detailWords({ source: '/srv/maze', ref: '', folder: null, version: 1 })).toBe('source /srv/maze, version 1')
  expect(detailWords({ old_role: 'member', limits: { runs: 3 } })).toBe('old role member, limits {"runs":3}')
  expect(detailWords({})).toBe('')
})
