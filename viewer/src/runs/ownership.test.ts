import { expect, test } from 'vitest'
import type { Me } from '../session/person'
import { mayChange, ownerWords, whoseWords } from './ownership'
import { runFixture } from './runFixture'

const ANN = { type: 'member', user_id: 1, username: 'ann', role: 'member' } as Me
const ROOT = { ...ANN, role: 'admin' } as Me
const GUEST = { type: 'guest', guest_session_id: 'g' } as Me

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
})

test('own runs and those of a team can be changed, public ones of others cannot', () => {
  const hosted = { domain_id: 'd', mine: false }
  expect(mayChange(runFixture({ ...hosted, mine: true }), GUEST)).toBe(true)
  expect(mayChange(runFixture({ ...hosted, team_id: 't' }), ANN)).toBe(true)
  expect(mayChange(runFixture({ ...hosted, team_id: 't' }), GUEST)).toBe(false)
  expect(mayChange(runFixture(hosted), ANN)).toBe(false)
  expect(mayChange(runFixture(hosted), ROOT)).toBe(true)
  expect(mayChange(runFixture(hosted), undefined)).toBe(false)
})

test('a run that nobody asked for cannot be changed here, by those who run the server neither', () => {
  expect(mayChange(runFixture(), ROOT)).toBe(false)
})
