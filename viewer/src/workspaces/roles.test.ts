import { expect, test } from 'vitest'
import type { Schema } from '../api/types'
import type { Me } from '../session/person'
import { mayAs, ROLES, type WorkspaceRole } from './roles'

function workspace(role: WorkspaceRole | null): Schema<'WorkspaceDocument'> {
  return { id: 'w', name: 'Reefs', role, members: 1, budget_usd: null, created_at: '2026-01-01T00:00:00Z' }
}

const member = { type: 'member', role: 'member' } as Me
const admin = { type: 'member', role: 'admin' } as Me

test.each([
  ['viewer', 1],
  ['member', 2],
  ['admin', 3],
  ['owner', 4],
  [null, 0],
] as const)('a member with the role %s may do what %i roles may', (role, count) => {
  expect(ROLES.filter(({ value }) => mayAs(value, workspace(role), member)).length).toBe(count)
})

test('an administrator of the server may do everything', () => {
  expect(ROLES.every(({ value }) => mayAs(value, workspace(null), admin))).toBe(true)
})
