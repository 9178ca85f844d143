import { useSearch } from '@tanstack/react-router'
import { useDocument } from '../api/query'
import { Empty } from '../parts/Empty'
import { Loaded } from '../parts/Loaded'
import { Page } from '../parts/Page'
import { Panel } from '../parts/Panel'
import styles from '../parts/panels.module.css'
import { CreateTeam } from './CreateTeam'
import { JoinTeam } from './JoinTeam'
import { TeamCard } from './TeamCard'

/** One's teams, and how to come into others. */
export function TeamsPage() {
  const { join } = useSearch({ from: '/teams' })
  const teams = useDocument('/api/teams')
  return (
    <Page title="Teams" note="Members of a team share its environments and runs.">
      <div className={styles.columns}>
        <Loaded query={teams} title="Your teams could not be loaded">
          {(found) =>
            found.length === 0 ? (
              <Empty title="You are not in a team yet">
                Create a team and share its code, or join one with its code.
              </Empty>
            ) : (
              <ul className={styles.list}>
                {found.map((team) => (
                  <TeamCard key={team.team_id} team={team} />
                ))}
              </ul>
            )
          }
        </Loaded>
        <div className={styles.stack}>
          <Panel title="Join a team">
            <JoinTeam code={join ?? ''} />
          </Panel>
          <Panel title="Create a team">
            <CreateTeam />
          </Panel>
        </div>
      </div>
    </Page>
  )
}
