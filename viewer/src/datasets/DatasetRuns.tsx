import { Link } from '@tanstack/react-router'
import { useDocument } from '../api/query'
import { count } from '../format'
import { Empty } from '../parts/Empty'
import { Loaded } from '../parts/Loaded'
import { Panel } from '../parts/Panel'
import { RunTable } from '../runlist/RunTable'

/** A version of a dataset, and how many of its runs are shown. */
interface DatasetRunsProps {
  workspaceId: string
  datasetId: string
  version: number
}

const SHOWN = 10

/** The newest runs on a version, with the way to those on all versions. */
export function DatasetRuns({ workspaceId, datasetId, version }: DatasetRunsProps) {
  const search = { workspace: workspaceId, dataset: [datasetId] }
  const runs = useDocument('/api/runs', { query: { ...search, dataset_version: [version], limit: SHOWN } })
  const total = runs.data?.total ?? 0
  return (
    <Panel
      title={`Runs on version ${version}`}
      note={total > SHOWN ? `the newest ${SHOWN} of ${count(total)}` : undefined}
      actions={
        <Link to="/" search={search}>
          Runs on all versions
        </Link>
      }
      flush
    >
      <Loaded query={runs} title="The runs could not be loaded">
        {({ items }) =>
          items.length > 0 ? (
            <RunTable label={`Runs on version ${version}`} runs={items} hide={['domain', 'visibility']} />
          ) : (
            <Empty title={`No runs on version ${version} yet`} command="mesocosm eval submit configs/eval/NAME.toml">
              A configuration whose dataset has this name is run on its newest version.
            </Empty>
          )
        }
      </Loaded>
    </Panel>
  )
}
