import { useState } from 'react'
import { del, post } from '../api/client'
import { useDocument } from '../api/query'
import type { Schema } from '../api/types'
import { Button } from '../parts/Button'
import { ConfirmDialog } from '../parts/ConfirmDialog'
import { Loaded } from '../parts/Loaded'
import { PlainTable } from '../parts/PlainTable'
import { useChange } from '../parts/useChange'
import { When } from '../parts/When'
import { useMe } from '../session/useMe'

type Asked = { what: 'remove' | 'transfer'; member: Schema<'TeamMember'> }

/** Who is in a team, and what its owner can do about that. */
export function MemberTable({ team }: { team: Schema<'TeamDocument'> }) {
  const [asked, setAsked] = useState<Asked>()
  const me = useMe()
  const members = useDocument('/api/teams/{team_id}/members', { params: { team_id: team.team_id } })
  const rules = team.role !== 'member'
  return (
    <Loaded query={members} title="The members could not be loaded" height="6rem">
      {(found) => (
        <>
          <PlainTable label="Table of members">
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col">Role</th>
                <th scope="col">Joined</th>
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
                    <bdi>{member.username}</bdi>{' '}
                    {member.user_id === me?.user_id && <span className="muted">(you)</span>}
                  </th>
                  <td>{member.role}</td>
                  <td>
                    <When at={member.joined_at} />
                  </td>
                  {rules && (
                    <td data-numeric>{member.role === 'member' && <Actions member={member} onAsk={setAsked} />}</td>
                  )}
                </tr>
              ))}
            </tbody>
          </PlainTable>
          {asked && <Question team={team} asked={asked} onClose={() => setAsked(undefined)} />}
        </>
      )}
    </Loaded>
  )
}

function Actions({ member, onAsk }: { member: Schema<'TeamMember'>; onAsk: (asked: Asked) => void }) {
  return (
    <>
      <Button
        look="quiet"
        aria-label={`Make owner: ${member.username}`}
        onClick={() => onAsk({ what: 'transfer', member })}
      >
        Make owner
      </Button>
      <Button look="quiet" aria-label={`Remove ${member.username}`} onClick={() => onAsk({ what: 'remove', member })}>
        Remove
      </Button>
    </>
  )
}

function Question({ team, asked, onClose }: { team: Schema<'TeamDocument'>; asked: Asked; onClose: () => void }) {
  const { member, what } = asked
  const params = { team_id: team.team_id }
  const remove = useChange(
    () => del('/api/teams/{team_id}/members/{user_id}', { params: { ...params, user_id: member.user_id } }),
    { done: `Removed ${member.username} from the team.`, after: onClose },
  )
  const transfer = useChange(
    () => post('/api/teams/{team_id}/transfer', { params, body: { new_owner_user_id: member.user_id } }),
    { done: `${member.username} is now the owner of the team.`, after: onClose },
  )
  const removing = what === 'remove'
  return (
    <ConfirmDialog
      open
      title={removing ? `Remove ${member.username}?` : `Make ${member.username} the owner?`}
      confirm={removing ? 'Remove' : 'Transfer ownership'}
      danger={removing}
      busy={remove.isPending || transfer.isPending}
      onConfirm={() => (removing ? remove : transfer).mutate(undefined)}
      onClose={onClose}
    >
      <p>
        {removing
          ? 'This member loses access to the runs and environments of the team, and can rejoin with its code.'
          : 'Only the new owner can see the code, remove members and delete the team. You remain a member.'}
      </p>
    </ConfirmDialog>
  )
}
