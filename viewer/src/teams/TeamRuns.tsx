import { get } from '../api/client'
import { Empty } from '../parts/Empty'
import { Listed } from '../parts/Listed'
import { Panel } from '../parts/Panel'
import { usePages } from '../parts/usePages'
import { RunTable } from '../runlist/RunTable'

const PAGE = 50

/** What the members of a team ran for it. */
export function TeamRuns({ teamId }: { teamId: string }) {
  const params = { team_id: teamId }
  const runs = usePages({
    key: ['/api/teams/{team_id}/runs', teamId],
    read: (cursor, signal) => get('/api/teams/{team_id}/runs', { params, query: { limit: PAGE, cursor }, signal }),
    cursorOf: (last) => last.id,
    size: PAGE,
  })
  return (
    <Panel title="Runs" flush>
      <Listed pages={runs} title="The team's runs could not be loaded">
        {(found) =>
          found.length > 0 ? (
            <RunTable label="Runs of the team" runs={found} />
          ) : (
            <Empty title="No runs yet">Select this team when you start a run.</Empty>
          )
        }
      </Listed>
    </Panel>
  )
}
