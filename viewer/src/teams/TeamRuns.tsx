import { get } from '../api/client'
import { Empty } from '../parts/Empty'
import { Listed } from '../parts/Listed'
import { Panel } from '../parts/Panel'
import { usePages } from '../parts/usePages'
import { RunTable } from '../runlist/RunTable'

const PAGE = 50

/** The runs of a team. */
export function TeamRuns({ teamId }: { teamId: string }) {
  const runs = usePages({
    key: ['/api/runs', teamId],
    read: (cursor, signal) => get('/api/runs', { query: { team: teamId, limit: PAGE, cursor }, signal }),
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
