import { expect, it } from 'vitest'
import { mayChange, ownerWords } from './owner'

const person = (type: 'member' | 'guest' | 'anonymous', more = {}) => ({
  type,
  user_id: null,
  username: null,
  guest_session_id: null,
  role: null,
  scope: 'write' as const,
  way: '',
  context: null,
  ...more,
})
const ADA = person('member', { user_id: 2, role: 'member' })
const ROOT = person('member', { user_id: 1, role: 'admin' })
const GUEST = person('guest', { guest_session_id: 'g1' })

it.each([
  ['own', { requester_id: '2', team_id: null, redacted: false }, ADA, true, 'yours'],
  ["a guest's own", { requester_id: 'guest:g1', team_id: null, redacted: false }, GUEST, true, 'yours'],
  ["a team mate's", { requester_id: '3', team_id: 't', redacted: false }, ADA, true, 'of your team'],
  ["an outsider's", { requester_id: null, team_id: 't', redacted: true }, ADA, false, "another member's"],
  ["a guest's", { requester_id: 'guest:g2', team_id: null, redacted: true }, ADA, false, "a guest's"],
  ['any, for administrators', { requester_id: '2', team_id: null, redacted: false }, ROOT, true, "another member's"],
  [
    'public, for nobody',
    { requester_id: null, team_id: 't', redacted: true },
    person('anonymous'),
    false,
    "another member's",
  ],
])('knows whose a run is: %s', (_what, run, me, may, words) => {
  expect(mayChange(run, me)).toBe(may)
  expect(ownerWords(run, me)).toBe(words)
})
