import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { documentQuery } from '../api/query'
import { shellWord } from '../launch/shell'
import { Empty } from '../parts/Empty'
import { Loaded } from '../parts/Loaded'
import { Panel } from '../parts/Panel'
import { isGoing } from '../run/headline'
import { RunTable } from '../runlist/RunTable'

const SHOWN = 8
const SOON_MS = 2_000
const LATER_MS = 15_000

interface WorkspaceRunsProps {
  workspaceId: string
  title: string
  /** Which runs of the workspace; all without. */
  filter?: { agent?: string[]; dataset?: string[] }
  /** The version of the dataset; those on all versions are a click away. */
  version?: number
  /** What is run where there are none yet. */
  configuration?: string
}

/** The newest runs of a workspace, those in progress as they go on. */
export function WorkspaceRuns({ workspaceId, title, filter = {}, version, configuration }: WorkspaceRunsProps) {
  const query = { workspace: workspaceId, ...filter }
  const runs = useQuery({
    ...documentQuery('/api/runs', {
      query: { ...query, dataset_version: version ? [version] : undefined, limit: SHOWN },
    }),
    refetchInterval: ({ state }) => (state.data?.items.some(isGoing) ? SOON_MS : LATER_MS),
  })
  return (
    <Panel
      title={title}
      note={runs.data && runs.data.total > SHOWN ? `${SHOWN} of ${runs.data.total}` : undefined}
      actions={
        <Link to="/" search={query}>
          {version ? 'Runs on all versions' : 'All runs'}
        </Link>
      }
      flush
    >
      <Loaded query={runs} title="The runs could not be loaded">
        {({ items }) =>
          items.length > 0 ? (
            <RunTable label={`Table of runs: ${title}`} runs={items} hide={['domain', 'visibility']} />
          ) : (
            <Empty
              title="No runs yet"
              command={`mesocosm eval submit ${configuration ? shellWord(configuration) : 'configs/eval/NAME.toml'}`}
            />
          )
        }
      </Loaded>
    </Panel>
  )
}
