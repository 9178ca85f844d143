import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { documentQuery, useDocument } from '../api/query'
import type { Schema } from '../api/types'
import { plural } from '../format'
import { shellWord } from '../launch/shell'
import { Command } from '../parts/Command'
import { Empty } from '../parts/Empty'
import { LinkButton } from '../parts/LinkButton'
import { Loaded } from '../parts/Loaded'
import { Page } from '../parts/Page'
import { Panel } from '../parts/Panel'
import { PlainTable } from '../parts/PlainTable'
import styles from '../parts/panels.module.css'
import { When } from '../parts/When'
import { FaultList } from '../repository/FaultList'
import { SecretNeeds } from '../secrets/SecretNeeds'
import { useMe } from '../session/useMe'
import { mayAs } from '../workspaces/roles'
import { WorkspaceNav } from '../workspaces/WorkspaceNav'
import { WorkspaceRuns } from '../workspaces/WorkspaceRuns'
import { WorkspaceTrail } from '../workspaces/WorkspaceTrail'
import { ConfigurationTable } from './ConfigurationTable'
import { type FoundRollout, faultsOf, originWords, rolloutsOf, secretsOf } from './code'
import own from './rollouts.module.css'

type Workspace = Schema<'WorkspaceDocument'>
type Code = Schema<'CodeDocument'>

/** A rollout: its configurations, where its code comes from, what it needs, and its runs. */
export function RolloutPage() {
  const { workspaceId, rollout } = useParams({ from: '/workspaces/$workspaceId/rollouts/$rollout' })
  const workspace = useDocument('/api/workspaces/{workspace}', { params: { workspace: workspaceId } })
  const code = useDocument('/api/workspaces/{workspace}/code', { params: { workspace: workspaceId } })
  const me = useMe()
  const found = rolloutsOf(code.data ?? []).find(({ name }) => name === rollout)
  const works = workspace.data !== undefined && mayAs('member', workspace.data, me)
  const first = found?.configurations.find(({ valid }) => valid)
  return (
    <Page
      title={rollout}
      heading={<bdi>{rollout}</bdi>}
      trail={<WorkspaceTrail workspace={workspace.data} rollouts />}
      note={found && noteOf(found)}
      actions={
        works &&
        found &&
        first && (
          <LinkButton
            to="/new-run"
            search={{ workspace: workspaceId, configuration: first.path, branch: found.code.branch || undefined }}
            look="primary"
            icon="play"
          >
            New run
          </LinkButton>
        )
      }
    >
      <WorkspaceNav workspaceId={workspaceId} />
      <Loaded query={workspace} title="This workspace could not be loaded">
        {(known) => (
          <Loaded query={code} title="The code of the workspace could not be loaded">
            {(codes) => <RolloutView workspace={known} codes={codes} name={rollout} found={found} works={works} />}
          </Loaded>
        )}
      </Loaded>
    </Page>
  )
}

function noteOf({ rollout: { entrypoints, requires_python }, code }: FoundRollout): string {
  return [
    entrypoints.length > 0 && `starts with ${entrypoints.join(', ')}`,
    requires_python && `Python ${requires_python}`,
    `from ${originWords(code)}`,
  ]
    .filter(Boolean)
    .join('; ')
}

interface RolloutViewProps {
  workspace: Workspace
  codes: readonly Code[]
  name: string
  found: FoundRollout | undefined
  works: boolean
}

function RolloutView({ workspace, codes, name, found, works }: RolloutViewProps) {
  const holding = codes.filter(({ rollouts }) => rollouts.some((one) => one.name === name))
  const runs = <WorkspaceRuns workspaceId={workspace.id} filter={{ agent: [name] }} title="Newest runs" />
  if (!found)
    return (
      <>
        <Empty title={`No rollout ${name}`} command="mesocosm rollout list">
          It is not in the newest synced code of this workspace. Its earlier runs are kept.
        </Empty>
        {runs}
      </>
    )
  const { configurations, code } = found
  const [first] = configurations
  return (
    <div className={styles.columns}>
      <div className={styles.stack}>
        <Faults workspaceId={workspace.id} found={found} />
        <Panel title="Configurations" flush={configurations.length > 0}>
          {configurations.length > 0 ? (
            <ConfigurationTable
              workspaceId={workspace.id}
              configurations={configurations}
              branch={code.branch}
              works={works}
            />
          ) : (
            <p className="muted">No valid configuration names it. Add one below configs/eval/, and sync.</p>
          )}
        </Panel>
        {runs}
      </div>
      <div className={styles.stack}>
        {first && (
          <Panel title="Start a run">
            <Command>{`mesocosm eval submit ${shellWord(first.path)}`}</Command>
          </Panel>
        )}
        <Needs workspaceId={workspace.id} found={found} works={works} />
        <Panel title="Code" flush>
          <CodeTable workspaceId={workspace.id} codes={holding} />
        </Panel>
      </div>
    </div>
  )
}

/** What its sync found to mend in the rollout and its configurations. */
function Faults({ workspaceId, found }: { workspaceId: string; found: FoundRollout }) {
  const { code, name, configurations } = found
  const detail = useQuery({
    ...documentQuery('/api/workspaces/{workspace}/syncs/{number}', {
      params: { workspace: workspaceId, number: code.sync ?? 0 },
    }),
    enabled: code.sync !== null,
  })
  const faults = faultsOf(detail.data?.faults ?? [], name, configurations)
  if (faults.length === 0) return null
  return (
    <Panel title="To mend" note={plural(faults.length, 'fault')}>
      <FaultList faults={faults} />
    </Panel>
  )
}

function Needs({ workspaceId, found, works }: { workspaceId: string; found: FoundRollout; works: boolean }) {
  const { requirements, requires_python } = found.rollout
  const secrets = secretsOf(found.configurations)
  return (
    <Panel title="What it needs">
      <dl className={styles.terms}>
        <div className={styles.pair}>
          <dt>Python</dt>
          <dd>{requires_python || 'any'}</dd>
        </div>
        <div className={styles.pair}>
          <dt>Packages</dt>
          <dd>{requirements.length > 0 ? requirements.join(', ') : 'none'}</dd>
        </div>
        <div className={styles.pair}>
          <dt>Secrets</dt>
          <dd>
            {secrets.length > 0 ? <SecretNeeds workspaceId={workspaceId} names={secrets} works={works} /> : 'none'}
          </dd>
        </div>
      </dl>
    </Panel>
  )
}

function CodeTable({ workspaceId, codes }: { workspaceId: string; codes: readonly Code[] }) {
  return (
    <PlainTable label="Table of code">
      <thead>
        <tr>
          <th scope="col">Commit</th>
          <th scope="col">Synced</th>
        </tr>
      </thead>
      <tbody>
        {codes.map((code) => {
          const subject = code.message.split('\n', 1)[0]
          return (
            <tr key={`${code.branch} ${code.commit} ${code.snapshot}`}>
              <th scope="row">
                {code.sync === null ? (
                  <bdi>{originWords(code)}</bdi>
                ) : (
                  <Link
                    to="/workspaces/$workspaceId/repository/syncs/$number"
                    params={{ workspaceId, number: String(code.sync) }}
                  >
                    <bdi>{originWords(code)}</bdi>
                  </Link>
                )}
                {subject && (
                  <span className={own.subject} data-full={subject}>
                    <bdi>{subject}</bdi>
                  </span>
                )}
              </th>
              <td>
                <When at={code.at} />
              </td>
            </tr>
          )
        })}
      </tbody>
    </PlainTable>
  )
}
