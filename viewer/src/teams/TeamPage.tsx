import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { del } from '../api/client'
import { useDocument } from '../api/query'
import type { Schema } from '../api/types'
import { Button } from '../parts/Button'
import { ConfirmDialog } from '../parts/ConfirmDialog'
import { Loaded } from '../parts/Loaded'
import { Page } from '../parts/Page'
import { Panel } from '../parts/Panel'
import styles from '../parts/panels.module.css'
import { useChange } from '../parts/useChange'
import { JoinCode } from './JoinCode'
import { MemberTable } from './MemberTable'
import { TeamEnvironments } from './TeamEnvironments'
import { TeamLeaderboard } from './TeamLeaderboard'
import { TeamRuns } from './TeamRuns'

/** A team: who is in it, its code, what it made. */
export function TeamPage() {
  const { teamId } = useParams({ from: '/teams/$teamId' })
  const team = useDocument('/api/teams/{team_id}', { params: { team_id: teamId } })
  if (team.data) return <TeamView team={team.data} />
  return (
    <Page title="Team" trail={<Link to="/teams">Teams</Link>}>
      <Loaded query={team} title="This team could not be loaded">
        {() => null}
      </Loaded>
    </Page>
  )
}

function TeamView({ team }: { team: Schema<'TeamDocument'> }) {
  const rules = team.role !== 'member'
  return (
    <Page
      title={team.name}
      heading={<bdi>{team.name}</bdi>}
      trail={<Link to="/teams">Teams</Link>}
      actions={rules ? <DeleteTeam team={team} /> : <LeaveTeam team={team} />}
      note={`${team.member_count} of ${team.max_members} members; you are ${team.role === 'owner' ? 'the owner' : `a ${team.role}`}`}
    >
      <div className={styles.columns}>
        <div className={styles.stack}>
          <Panel title="Members" flush>
            <MemberTable team={team} />
          </Panel>
          <TeamLeaderboard teamId={team.team_id} />
          <TeamRuns teamId={team.team_id} />
        </div>
        <div className={styles.stack}>
          {rules && (
            <Panel title="Join code">
              <JoinCode team={team} />
            </Panel>
          )}
          <TeamEnvironments teamId={team.team_id} />
        </div>
      </div>
    </Page>
  )
}

function LeaveTeam({ team }: { team: Schema<'TeamDocument'> }) {
  const [asked, setAsked] = useState(false)
  const navigate = useNavigate()
  const leave = useChange(() => del('/api/teams/{team_id}/members/me', { params: { team_id: team.team_id } }), {
    done: `You left ${team.name}.`,
    after: () => void navigate({ to: '/teams' }),
  })
  return (
    <>
      <Button onClick={() => setAsked(true)}>Leave team</Button>
      <ConfirmDialog
        open={asked}
        title="Leave this team?"
        confirm="Leave"
        danger
        busy={leave.isPending}
        onConfirm={() => leave.mutate(undefined)}
        onClose={() => setAsked(false)}
      >
        <p>Runs and environments stay with the team. You can rejoin with its code.</p>
      </ConfirmDialog>
    </>
  )
}

function DeleteTeam({ team }: { team: Schema<'TeamDocument'> }) {
  const [asked, setAsked] = useState(false)
  const navigate = useNavigate()
  const remove = useChange(() => del('/api/teams/{team_id}', { params: { team_id: team.team_id } }), {
    done: `Deleted ${team.name}.`,
    after: () => void navigate({ to: '/teams' }),
  })
  return (
    <>
      <Button look="danger" icon="trash" onClick={() => setAsked(true)}>
        Delete team
      </Button>
      <ConfirmDialog
        open={asked}
        title={`Delete ${team.name}?`}
        confirm="Delete team"
        danger
        busy={remove.isPending}
        onConfirm={() => remove.mutate(undefined)}
        onClose={() => setAsked(false)}
      >
        <p>
          All memberships and the team's environments are deleted. Runs stay with the users who started them. This
          cannot be undone.
        </p>
      </ConfirmDialog>
    </>
  )
}
