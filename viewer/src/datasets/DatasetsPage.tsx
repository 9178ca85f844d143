import { useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { get } from '../api/client'
import { useDocument } from '../api/query'
import type { Schema } from '../api/types'
import { Button } from '../parts/Button'
import { Empty } from '../parts/Empty'
import { Listed } from '../parts/Listed'
import { Loaded } from '../parts/Loaded'
import { Page } from '../parts/Page'
import { Panel } from '../parts/Panel'
import { usePages } from '../parts/usePages'
import { useMe } from '../session/useMe'
import { mayAs } from '../workspaces/roles'
import { WorkspaceNav } from '../workspaces/WorkspaceNav'
import { WorkspaceTrail } from '../workspaces/WorkspaceTrail'
import { DatasetTable } from './DatasetTable'
import { UploadForm } from './UploadForm'

const LOOK_AGAIN = 2_000

/** The datasets of a workspace, and a form for another one. */
export function DatasetsPage() {
  const { workspaceId } = useParams({ from: '/workspaces/$workspaceId/datasets' })
  const [uploads, setUploads] = useState(false)
  const me = useMe()
  const navigate = useNavigate()
  const workspace = useDocument('/api/workspaces/{workspace}', { params: { workspace: workspaceId } })
  const works = workspace.data !== undefined && mayAs('member', workspace.data, me)
  return (
    <Page
      title={workspace.data ? `Datasets of ${workspace.data.name}` : 'Datasets'}
      heading="Datasets"
      trail={<WorkspaceTrail workspace={workspace.data} />}
      note="Every row is checked when a file is uploaded. A version never changes."
      actions={
        works &&
        !uploads && (
          <Button look="primary" icon="arrowUp" onClick={() => setUploads(true)}>
            Upload a dataset
          </Button>
        )
      }
    >
      <WorkspaceNav workspaceId={workspaceId} />
      {works && uploads && (
        <Panel title="Upload a dataset">
          <UploadForm
            workspaceId={workspaceId}
            onClose={() => setUploads(false)}
            onDone={({ id, version }) =>
              void navigate({
                to: '/workspaces/$workspaceId/datasets/$datasetId',
                params: { workspaceId, datasetId: id },
                search: { version },
              })
            }
          />
        </Panel>
      )}
      <Loaded query={workspace} title="This workspace could not be loaded">
        {(found) => <DatasetList workspace={found} works={works} />}
      </Loaded>
    </Page>
  )
}

function DatasetList({ workspace, works }: { workspace: Schema<'WorkspaceDocument'>; works: boolean }) {
  const path = '/api/workspaces/{workspace}/datasets'
  const params = { workspace: workspace.id }
  const datasets = usePages({
    key: [path, params],
    read: async (cursor, signal) => {
      const page = await get(path, { params, query: { cursor }, signal })
      return { items: page.items, cursor: page.next_cursor ?? null }
    },
    again: (found) => (found.some((one) => one.status === 'processing') ? LOOK_AGAIN : false),
  })
  return (
    <Listed pages={datasets} title="The datasets could not be loaded">
      {(found) =>
        found.length > 0 ? (
          <Panel flush>
            <DatasetTable workspaceId={workspace.id} datasets={found} />
          </Panel>
        ) : (
          <Empty title="No datasets yet" command="mesocosm dataset upload FILE">
            {works
              ? 'Upload a CSV, JSONL or Parquet file here or in the terminal.'
              : 'Members of the workspace upload them; your role is viewer.'}
          </Empty>
        )
      }
    </Listed>
  )
}
