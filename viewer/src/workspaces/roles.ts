/** The roles in a workspace, and what the user may do by theirs. */
import type { Schema } from '../api/types'
import { isAdmin, type Me } from '../session/person'

export type WorkspaceRole = Schema<'WorkspaceMember'>['role']

/** The roles, rising, and what each may do beside what those before it may. */
export const ROLES: readonly { value: WorkspaceRole; label: string }[] = [
  { value: 'viewer', label: 'viewer: sees datasets' },
  { value: 'member', label: 'member: uploads datasets, sets secrets of their own' },
  { value: 'admin', label: 'admin: manages members and all secrets' },
  { value: 'owner', label: 'owner: also makes owners, deletes the workspace' },
]

/** Whether the user may do what a role may; administrators of the server may do everything. */
export function mayAs(role: WorkspaceRole, workspace: Schema<'WorkspaceDocument'>, me: Me | undefined): boolean {
  if (isAdmin(me)) return true
  const rank = (name: WorkspaceRole | null) => ROLES.findIndex((one) => one.value === name)
  return rank(workspace.role) >= rank(role)
}
