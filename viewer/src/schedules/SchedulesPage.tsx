import { useQuery } from '@tanstack/react-query'
import { useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { documentQuery, useDocument } from '../api/query'
import type { Schema } from '../api/types'
import { Button } from '../parts/Button'
import { Empty } from '../parts/Empty'
import { Loaded } from '../parts/Loaded'
import { Page } from '../parts/Page'
import { Panel } from '../parts/Panel'
import { useMe } from '../session/useMe'
import { mayAs } from '../workspaces/roles'
import { WorkspaceNav } from '../workspaces/WorkspaceNav'
import { WorkspaceTrail } from '../workspaces/WorkspaceTrail'
import { ScheduleForm } from './ScheduleForm'
import { ScheduleTable } from './ScheduleTable'
import { lookAgain } from './times'

/** The schedules of a workspace, and a form for another one. */
export function SchedulesPage() {
  const { workspaceId } = useParams({ from: '/workspaces/$workspaceId/schedules' })
  const { configuration } = useSearch({ from: '/workspaces/$workspaceId/schedules' })
  const navigate = useNavigate({ from: '/workspaces/$workspaceId/schedules' })
  const [edited, setEdited] = useState<Schema<'ScheduleDocument'> | 'new' | undefined>(
    configuration === undefined ? undefined : 'new',
  )
  const me = useMe()
  const params = { workspace: workspaceId }
  const workspace = useDocument('/api/workspaces/{workspace}', { params })
  const schedules = useQuery({
    ...documentQuery('/api/workspaces/{workspace}/schedules', { params }),
    refetchInterval: ({ state }) => lookAgain(state.data?.map(({ last }) => last) ?? []),
  })
  const works = workspace.data !== undefined && mayAs('member', workspace.data, me)
  return (
    <Page
      title={workspace.data ? `Schedules of ${workspace.data.name}` : 'Schedules'}
      heading="Schedules"
      trail={<WorkspaceTrail workspace={workspace.data} />}
      note="Evaluation runs at times, or after each sync, as the member who made the schedule."
      actions={
        works &&
        edited === undefined && (
          <Button look="primary" icon="clock" onClick={() => setEdited('new')}>
            Add a schedule
          </Button>
        )
      }
    >
      <WorkspaceNav workspaceId={workspaceId} />
      {works && edited !== undefined && (
        <Panel title={edited === 'new' ? 'Add a schedule' : `Change ${edited.name}`}>
          <ScheduleForm
            key={edited === 'new' ? 'new' : edited.id}
            workspaceId={workspaceId}
            schedule={edited === 'new' ? undefined : edited}
            configuration={configuration}
            onClose={() => {
              setEdited(undefined)
              void navigate({ search: {}, replace: true })
            }}
          />
        </Panel>
      )}
      <Loaded query={workspace} title="This workspace could not be loaded">
        {() => (
          <Loaded query={schedules} title="The schedules could not be loaded">
            {(found) =>
              found.length > 0 ? (
                <Panel flush>
                  <ScheduleTable workspaceId={workspaceId} schedules={found} onEdit={setEdited} />
                </Panel>
              ) : (
                <Empty
                  title="No schedules yet"
                  command="mesocosm eval schedule add configs/eval/NAME.toml --cron '0 3 * * *'"
                >
                  {works
                    ? 'Run a configuration every night, or after each new commit.'
                    : 'Members of the workspace make them; your role is viewer.'}
                </Empty>
              )
            }
          </Loaded>
        )}
      </Loaded>
    </Page>
  )
}
