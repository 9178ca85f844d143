import { useParams, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { useDocument } from '../api/query'
import type { Schema } from '../api/types'
import { Empty } from '../parts/Empty'
import { Loaded } from '../parts/Loaded'
import { Page } from '../parts/Page'
import { Panel } from '../parts/Panel'
import styles from '../parts/panels.module.css'
import { useMe } from '../session/useMe'
import { mayAs } from '../workspaces/roles'
import { WorkspaceNav } from '../workspaces/WorkspaceNav'
import { WorkspaceTrail } from '../workspaces/WorkspaceTrail'
import { MissingPanel } from './MissingPanel'
import { SecretForm } from './SecretForm'
import { SecretTable } from './SecretTable'

type Scope = Schema<'WorkspaceSecret'>['scope']

/** The secrets of a workspace, and the user's own in it. */
export function SecretsPage() {
  const { workspaceId } = useParams({ from: '/workspaces/$workspaceId/secrets' })
  const workspace = useDocument('/api/workspaces/{workspace}', { params: { workspace: workspaceId } })
  return (
    <Page
      title={workspace.data ? `Secrets of ${workspace.data.name}` : 'Secrets'}
      heading="Secrets"
      trail={<WorkspaceTrail workspace={workspace.data} />}
      note="Runs get secrets as environment variables. Nobody can read a value again."
    >
      <WorkspaceNav workspaceId={workspaceId} />
      <Loaded query={workspace} title="This workspace could not be loaded">
        {(found) => <SecretsView workspace={found} />}
      </Loaded>
    </Page>
  )
}

function SecretsView({ workspace }: { workspace: Schema<'WorkspaceDocument'> }) {
  const me = useMe()
  const { needs = [] } = useSearch({ from: '/workspaces/$workspaceId/secrets' })
  const [given, setGiven] = useState<{ name: string; scope: Scope; at: number }>()
  const secrets = useDocument('/api/workspaces/{workspace}/secrets', { params: { workspace: workspace.id } })
  const works = mayAs('member', workspace, me)
  const manages = mayAs('admin', workspace, me)
  const fill = (name: string, scope: Scope) => setGiven({ name, scope, at: (given?.at ?? 0) + 1 })
  return (
    <div className={styles.columns}>
      <Loaded query={secrets} title="The secrets could not be loaded">
        {(found) =>
          found.length > 0 ? (
            <Panel flush>
              <SecretTable
                workspaceId={workspace.id}
                secrets={found}
                manages={manages}
                onSet={({ name, scope }) => fill(name, scope)}
              />
            </Panel>
          ) : (
            <Empty title="No secrets yet" command="mesocosm secret set NAME">
              {works
                ? 'Set API keys and passwords that runs need, here or in the terminal.'
                : 'Members of the workspace set them; your role is viewer.'}
            </Empty>
          )
        }
      </Loaded>
      {works && (
        <div className={styles.stack}>
          <Panel title={given ? `Set ${given.name}` : 'Set a secret'}>
            <SecretForm key={given?.at ?? 0} workspaceId={workspace.id} manages={manages} given={given} />
          </Panel>
          <MissingPanel
            key={needs.join(' ')}
            workspaceId={workspace.id}
            needs={needs}
            onSet={(name) => fill(name, 'personal')}
          />
        </div>
      )}
    </div>
  )
}
