import { get } from '../api/client'
import { EnvironmentList } from '../environments/EnvironmentList'
import { Listed } from '../parts/Listed'
import { Panel } from '../parts/Panel'
import { usePages } from '../parts/usePages'

const PAGE = 50

/** What a team submitted. */
export function TeamEnvironments({ teamId }: { teamId: string }) {
  const params = { team_id: teamId }
  const environments = usePages({
    key: ['/api/teams/{team_id}/environments', teamId],
    read: (cursor, signal) =>
      get('/api/teams/{team_id}/environments', { params, query: { limit: PAGE, cursor }, signal }),
    cursorOf: (last) => last.id,
    size: PAGE,
  })
  return (
    <Panel title="Environments">
      <Listed pages={environments} title="The team's environments could not be loaded">
        {(found) =>
          found.length > 0 ? (
            <EnvironmentList environments={found} />
          ) : (
            <p className="muted">None yet. Choose this team when you submit an environment.</p>
          )
        }
      </Listed>
    </Panel>
  )
}
