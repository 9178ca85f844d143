import { useState } from 'react'
import { del, patch } from '../api/client'
import { useDocument } from '../api/query'
import type { Schema } from '../api/types'
import { Badge } from '../parts/Badge'
import { ConfirmDialog } from '../parts/ConfirmDialog'
import { Loaded } from '../parts/Loaded'
import { Menu } from '../parts/Menu'
import { PlainTable } from '../parts/PlainTable'
import { useChange } from '../parts/useChange'
import { When } from '../parts/When'
import { useMe } from '../session/useMe'
import { mayAs, ROLES, type WorkspaceRole } from './roles'

/** A workspace, and one of its members. */
interface MemberProps {
  workspace: Schema<'WorkspaceDocument'>
  member: Schema<'WorkspaceMember'>
}

/** Who is in a workspace with which role, and what its admins can do about that. */
export function WorkspaceMembers({ workspace }: { workspace: Schema<'WorkspaceDocument'> }) {
  const me = useMe()
  const members = useDocument('/api/workspaces/{workspace}/members', { params: { workspace: workspace.id } })
  const rules = mayAs('admin', workspace, me)
  return (
    <Loaded query={members} title="The members could not be loaded" height="6rem">
      {(found) => (
        <PlainTable label="Table of members">
          <thead>
            <tr>
              <th scope="col">Name</th>
              <th scope="col">Role</th>
              <th scope="col">Added</th>
              {rules && (
                <th scope="col">
                  <span className="hidden-text">Actions</span>
                </th>
              )}
            </tr>
          </thead>
          <tbody>
            {found.map((member) => (
              <tr key={member.user_id}>
                <th scope="row">
                  <bdi>{member.username}</bdi> {member.user_id === me?.user_id && <span className="muted">(you)</span>}
                  {member.disabled && <Badge tone="warn">account disabled</Badge>}
                </th>
                <td>{member.role}</td>
                <td>
                  <When at={member.joined_at} />
                </td>
                {rules && (
                  <td data-numeric>
                    {(member.role !== 'owner' || mayAs('owner', workspace, me)) && (
                      <MemberMenu workspace={workspace} member={member} />
                    )}
                  </td>
                )}
              </tr>
            ))}
          </tbody>
        </PlainTable>
      )}
    </Loaded>
  )
}

function MemberMenu({ workspace, member }: MemberProps) {
  const [asked, setAsked] = useState(false)
  const me = useMe()
  const params = { workspace: workspace.id, user_id: member.user_id }
  const change = useChange((role: WorkspaceRole) =>
    patch('/api/workspaces/{workspace}/members/{user_id}', { params, body: { role } }),
  )
  const remove = useChange(() => del('/api/workspaces/{workspace}/members/{user_id}', { params }), {
    done: `Removed ${member.username} from the workspace.`,
    after: () => setAsked(false),
  })
  const others = ROLES.filter(
    ({ value }) => value !== member.role && (value !== 'owner' || mayAs(value, workspace, me)),
  )
  return (
    <>
      <Menu
        label={`Change ${member.username}`}
        icon="menu"
        small
        items={[
          ...others.map(({ value }) => ({
            label: `Make ${value}`,
            disabled: change.isPending,
            onChoose: () => change.mutate(value),
          })),
          { label: 'Remove…', danger: true, onChoose: () => setAsked(true) },
        ]}
      />
      <ConfirmDialog
        open={asked}
        title={`Remove ${member.username}?`}
        confirm="Remove"
        danger
        busy={remove.isPending}
        onConfirm={() => remove.mutate(undefined)}
        onClose={() => setAsked(false)}
      >
        <p>This member loses access to the workspace immediately. What they made stays in it.</p>
      </ConfirmDialog>
    </>
  )
}
