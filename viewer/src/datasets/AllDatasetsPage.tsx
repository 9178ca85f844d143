import { useDocument } from '../api/query'
import type { Schema } from '../api/types'
import { OfWorkspaces, WorkspaceRows } from '../workspaces/OfWorkspaces'
import { DatasetHead, DatasetRows } from './DatasetTable'

/** The datasets of all of one's workspaces. */
export function AllDatasetsPage() {
  return (
    <OfWorkspaces
      title="Datasets"
      note="Rows that models are asked. Every row is checked when a file is uploaded; a version never changes."
      head={<DatasetHead />}
      rows={(workspace) => <Rows key={workspace.id} workspace={workspace} />}
    />
  )
}

function Rows({ workspace }: { workspace: Schema<'WorkspaceDocument'> }) {
  const datasets = useDocument('/api/workspaces/{workspace}/datasets', { params: { workspace: workspace.id } })
  const found = datasets.data
  return (
    <WorkspaceRows
      workspace={workspace}
      to="/workspaces/$workspaceId/datasets"
      columns={7}
      note={found?.next_cursor ? 'the newest; the page of the workspace has all' : ''}
      words={wordsOf(datasets.error, found?.items)}
    >
      <DatasetRows workspaceId={workspace.id} datasets={found?.items ?? []} />
    </WorkspaceRows>
  )
}

function wordsOf(error: Error | null, items: readonly unknown[] | undefined): string {
  if (error) return `The datasets could not be loaded: ${error.message}`
  if (items === undefined) return '…'
  return items.length === 0 ? 'No datasets yet: mesocosm dataset upload FILE adds one.' : ''
}
