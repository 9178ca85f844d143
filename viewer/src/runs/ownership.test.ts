import { expect, test } from 'vitest'
import { ownerWords, whoseWords } from './ownership'
import { runFixture } from './runFixture'

test('a run of mine is said to be mine, others are named as far as that is known', () => {
  expect(ownerWords({ owner: 'ann', mine: true })).toBe('you')
  expect(ownerWords({ owner: 'member', mine: false })).toBe('member')
  expect(ownerWords({ owner: null, mine: null })).toBe('')
})

test('the page of a run says whose it is', () => {
  const hosted = { domain_id: 'd', mine: false, owner: 'member' }
  expect(whoseWords(runFixture({ ...hosted, mine: true }))).toBe('yours')
  expect(whoseWords(runFixture({ ...hosted, team_id: 't' }))).toBe('of your team')
  expect(whoseWords(runFixture(hosted))).toBe("another member's")
  expect(whoseWords(runFixture({ ...hosted, owner: 'guest' }))).toBe("a guest's")
  expect(whoseWords(runFixture({ ...hosted, owner: 'ann', workspace_id: 'w' }))).toBe('by ann, in')
  expect(whoseWords(runFixture({ ...hosted, mine: true, workspace_id: 'w' }))).toBe('yours, in')
})
