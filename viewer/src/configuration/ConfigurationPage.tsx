import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { useMemo } from 'react'
import { get } from '../api/client'
import { documentQuery, useDocument } from '../api/query'
import type { Schema } from '../api/types'
import { plural } from '../format'
import { useShortcut } from '../keys/useShortcut'
import { shellWord } from '../launch/shell'
import { Badge } from '../parts/Badge'
import { Empty } from '../parts/Empty'
import { Key } from '../parts/Key'
import { LinkButton } from '../parts/LinkButton'
import { Listed } from '../parts/Listed'
import { Loaded } from '../parts/Loaded'
import { Page } from '../parts/Page'
import { Panel } from '../parts/Panel'
import panels from '../parts/panels.module.css'
import { type Pages, usePages } from '../parts/usePages'
import { FaultList } from '../repository/FaultList'
import { fileName } from '../rollouts/code'
import { isGoing } from '../run/headline'
import { useMe } from '../session/useMe'
import { mayAs } from '../workspaces/roles'
import { WorkspaceNav } from '../workspaces/WorkspaceNav'
import { WorkspaceTrail } from '../workspaces/WorkspaceTrail'
import { ConfigurationChart } from './ConfigurationChart'
import { ConfigurationRuns } from './ConfigurationRuns'
import { historyOf, type Run } from './history'
import { ChosenPair, LastPair } from './PairPanel'

const PAGE = 20
const LOOK_AGAIN = 2_000

/** A configuration: its runs over commits, and what changed between two. */
export function ConfigurationPage() {
  const { workspaceId } = useParams({ from: '/workspaces/$workspaceId/configuration' })
  const { path = '' } = useSearch({ from: '/workspaces/$workspaceId/configuration' })
  const workspace = useDocument('/api/workspaces/{workspace}', { params: { workspace: workspaceId } })
  const code = useDocument('/api/workspaces/{workspace}/code', { params: { workspace: workspaceId } })
  if (workspace.data && code.data && path !== '')
    return <ConfigurationView key={path} workspace={workspace.data} codes={code.data} path={path} />
  return (
    <Page title="Configuration" trail={<WorkspaceTrail workspace={workspace.data} rollouts />}>
      <WorkspaceNav workspaceId={workspaceId} />
      {path === '' ? (
        <Empty title="No configuration is named">The page Rollouts lists the configurations of the workspace.</Empty>
      ) : (
        <Loaded query={workspace} title="This workspace could not be loaded">
          {() => (
            <Loaded query={code} title="The code of the workspace could not be loaded">
              {() => null}
            </Loaded>
          )}
        </Loaded>
      )}
    </Page>
  )
}

interface ViewProps {
  workspace: Schema<'WorkspaceDocument'>
  codes: readonly Schema<'CodeDocument'>[]
  path: string
}

function ConfigurationView({ workspace, codes, path }: ViewProps) {
  const me = useMe()
  const works = mayAs('member', workspace, me)
  const newest = codes.find(({ configurations }) => configurations.some((one) => one.path === path))
  const configuration = newest?.configurations.find((one) => one.path === path)
  const query = { workspace: workspace.id, configuration: [path] }
  const runs = usePages<Run>({
    key: ['/api/runs', query],
    read: (cursor, signal) => get('/api/runs', { query: { ...query, limit: PAGE, cursor }, signal }),
    again: (found) => (found.some(isGoing) ? LOOK_AGAIN : false),
  })
  const name = fileName(path)
  return (
    <Page
      title={name}
      heading={<bdi>{name}</bdi>}
      trail={<WorkspaceTrail workspace={workspace} rollouts rollout={configuration?.rollout} />}
      aside={
        configuration &&
        !configuration.valid && (
          <Badge tone="bad" icon="error" title="It cannot be run; its sync says what to mend.">
            invalid
          </Badge>
        )
      }
      actions={
        <>
          {works && configuration?.valid && (
            <LinkButton
              to="/workspaces/$workspaceId/schedules"
              params={{ workspaceId: workspace.id }}
              search={{ configuration: path }}
              icon="clock"
            >
              Schedule
            </LinkButton>
          )}
          {works && configuration?.valid && (
            <LinkButton
              to="/new-run"
              search={{ workspace: workspace.id, configuration: path, branch: newest?.branch || undefined }}
              look="primary"
              icon="play"
            >
              {newest?.kind === 'commit' ? `Run at ${newest.branch}` : 'Run'}
            </LinkButton>
          )}
        </>
      }
    >
      <WorkspaceNav workspaceId={workspace.id} />
      <Facts workspaceId={workspace.id} code={newest} configuration={configuration} path={path} />
      {newest && configuration && !configuration.valid && (
        <Faults workspaceId={workspace.id} code={newest} path={path} />
      )}
      <Listed pages={runs} title="The runs could not be loaded" height="24rem">
        {(found) =>
          found.length > 0 ? <Runs runs={found} pages={runs} /> : <NoRuns path={path} configuration={configuration} />
        }
      </Listed>
    </Page>
  )
}

function Runs({ runs, pages }: { runs: readonly Run[]; pages: Pages<Run> }) {
  const { run: chosen = [] } = useSearch({ from: '/workspaces/$workspaceId/configuration' })
  const navigate = useNavigate({ from: '/workspaces/$workspaceId/configuration' })
  const history = useMemo(() => historyOf(runs), [runs])
  const choose = (id: string) => {
    const rest = chosen.filter((one) => one !== id)
    const next = rest.length < chosen.length ? rest : [...chosen, id].slice(-2)
    void navigate({ search: (before) => ({ ...before, run: next }), replace: true, resetScroll: false })
  }
  const pair = runs.filter(({ id }) => chosen.includes(id)).reverse()
  const newest = runs.find(({ state }) => state === 'finished')
  const [earlier, later] = pair
  useShortcut(
    'c',
    'Compare the chosen runs',
    () => void navigate({ to: '/compare', search: { run: pair.map(({ id }) => id) } }),
    { enabled: pair.length === 2 },
  )
  return (
    <div className={panels.stack}>
      {history.points.length > 0 && (
        <Panel>
          <ConfigurationChart
            history={history}
            pair={chosen}
            onOpen={(runId) => void navigate({ to: '/runs/$runId', params: { runId } })}
          />
          {history.others > 0 && (
            <p className="muted">
              {plural(history.others, 'run')} without a value of {history.metric} {history.others === 1 ? 'is' : 'are'}{' '}
              not drawn.
            </p>
          )}
        </Panel>
      )}
      {earlier && later ? <ChosenPair pair={[earlier, later]} /> : newest && <LastPair run={newest} />}
      <Panel
        title="Runs"
        note={pages.more ? `the newest ${runs.length}` : plural(runs.length, 'run')}
        actions={
          <span className="muted">
            {pair.length === 1 ? 'Choose another run to compare.' : 'Choose two runs to compare them.'} <Key keys="c" />
          </span>
        }
        flush
      >
        <ConfigurationRuns runs={runs} chosen={chosen} onChoose={choose} />
      </Panel>
    </div>
  )
}

function NoRuns({ path, configuration }: Pick<FactsProps, 'path' | 'configuration'>) {
  if (!configuration) return <Empty title="No runs yet">There is no {path} in the code.</Empty>
  if (!configuration.valid)
    return <Empty title="No runs yet">Mend the configuration and sync, then it can be run.</Empty>
  return (
    <Empty title="No runs yet" command={`mesocosm eval submit ${shellWord(path)}`}>
      Start one here, or in a clone of the repository.
    </Empty>
  )
}

/** Why the configuration cannot be run. */
function Faults({ workspaceId, code, path }: { workspaceId: string; code: Schema<'CodeDocument'>; path: string }) {
  const detail = useQuery({
    ...documentQuery('/api/workspaces/{workspace}/syncs/{number}', {
      params: { workspace: workspaceId, number: code.sync ?? 0 },
    }),
    enabled: code.sync !== null,
  })
  const faults = (detail.data?.faults ?? []).filter((one) => one.path === path)
  if (faults.length === 0) return null
  return (
    <Panel title="To mend" note={plural(faults.length, 'fault')}>
      <FaultList faults={faults} />
    </Panel>
  )
}

interface FactsProps {
  workspaceId: string
  path: string
  code: Schema<'CodeDocument'> | undefined
  configuration: Schema<'SyncedConfigurationDocument'> | undefined
}

function Facts({ workspaceId, path, code, configuration }: FactsProps) {
  if (!code || !configuration)
    return (
      <p className={panels.facts}>
        <code>{path}</code>
        <span>not in the newest synced code</span>
      </p>
    )
  const { rollout, dataset, model, secrets } = configuration
  return (
    <p className={panels.facts}>
      <code>{path}</code>
      {rollout && (
        <span>
          rollout{' '}
          <Link to="/workspaces/$workspaceId/rollouts/$rollout" params={{ workspaceId, rollout }}>
            <bdi>{rollout}</bdi>
          </Link>
        </span>
      )}
      {dataset && (
        <span>
          dataset{' '}
          <Link to="/workspaces/$workspaceId/datasets/$datasetId" params={{ workspaceId, datasetId: dataset }}>
            <bdi>{dataset}</bdi>
          </Link>
        </span>
      )}
      {model && (
        <span>
          model <bdi>{model}</bdi>
        </span>
      )}
      {secrets.length > 0 && (
        <span>
          needs{' '}
          <Link to="/workspaces/$workspaceId/secrets" params={{ workspaceId }} search={{ needs: secrets }}>
            {secrets.join(', ')}
          </Link>
        </span>
      )}
      <span>
        {code.kind === 'commit' ? `${code.branch} at ` : 'uploaded '}
        {code.sync ? (
          <Link
            to="/workspaces/$workspaceId/repository/syncs/$number"
            params={{ workspaceId, number: String(code.sync) }}
            data-full={code.message}
          >
            <code>{code.commit.slice(0, 7)}</code>
          </Link>
        ) : (
          <code>{code.commit.slice(0, 7)}</code>
        )}
      </span>
    </p>
  )
}
