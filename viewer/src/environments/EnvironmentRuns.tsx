import { useDocument } from '../api/query'
import { Empty } from '../parts/Empty'
import { Loaded } from '../parts/Loaded'
import { Panel } from '../parts/Panel'
import { RunTable } from '../runlist/RunTable'

/** The newest runs in an environment. */
export function EnvironmentRuns({ environmentId }: { environmentId: string }) {
  const runs = useDocument('/api/runs', { query: { environment: environmentId, limit: 10 } })
  return (
    <Panel title="Newest runs" flush>
      <Loaded query={runs} title="The runs could not be loaded">
        {({ items }) =>
          items.length > 0 ? (
            <RunTable label="Table of runs" runs={items} hide={['domain']} />
          ) : (
            <Empty title="No runs yet">Once the environment is ready, you can start a run from here.</Empty>
          )
        }
      </Loaded>
    </Panel>
  )
}
