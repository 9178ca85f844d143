import { Link } from '@tanstack/react-router'
import { useDocument } from '../api/query'
import type { Schema } from '../api/types'
import { Badge } from '../parts/Badge'
import { LinkButton } from '../parts/LinkButton'
import { PlainTable } from '../parts/PlainTable'
import { Score } from '../parts/Score'
import { Status } from '../parts/Status'
import { When } from '../parts/When'
import { isGoing, stateOf } from '../run/headline'
import { modelText, modelWords } from '../runs/model'
import { fileName } from './code'
import styles from './rollouts.module.css'

type Configuration = Schema<'SyncedConfigurationDocument'>
type Run = Schema<'RunSummary'>

interface ConfigurationTableProps {
  workspaceId: string
  configurations: readonly Configuration[]
  /** The branch that they are run at. */
  branch: string
  /** Whether the user may start runs. */
  works: boolean
}

/** Configurations with what they are of, how their newest run went, and a way to start one. */
export function ConfigurationTable({ workspaceId, configurations, branch, works }: ConfigurationTableProps) {
  const newest = useNewestRuns(workspaceId)
  return (
    <PlainTable label="Table of configurations" className={styles.table}>
      <thead>
        <tr>
          <th scope="col">Configuration</th>
          <th scope="col" data-minor data-wide>
            Dataset
          </th>
          <th scope="col" data-minor>
            Model
          </th>
          <th scope="col">Newest run</th>
          <th scope="col" data-minor>
            When
          </th>
          {works && (
            <th scope="col">
              <span className="hidden-text">Start</span>
            </th>
          )}
        </tr>
      </thead>
      <tbody>
        {configurations.map(({ path, valid, dataset, model }) => (
          <tr key={path}>
            <th scope="row">
              <ConfigurationLink workspaceId={workspaceId} path={path} />
            </th>
            <td data-minor data-wide>
              <bdi>{dataset || '–'}</bdi>
            </td>
            <td data-minor>
              <bdi>{model || '–'}</bdi>
            </td>
            <td>{valid ? <Newest run={newest.get(path)} model={model} /> : <Invalid />}</td>
            <td data-minor>
              <When at={newest.get(path)?.created_at} />
            </td>
            {works && (
              <td data-numeric>
                {valid && (
                  <span className={styles.start}>
                    {' '}
                    <LinkButton
                      to="/new-run"
                      search={{ workspace: workspaceId, configuration: path, branch: branch || undefined }}
                      icon="play"
                      aria-label={`Run ${fileName(path)}`}
                    >
                      Run
                    </LinkButton>
                  </span>
                )}
              </td>
            )}
          </tr>
        ))}
      </tbody>
    </PlainTable>
  )
}

/** A link to the page of a configuration. */
export function ConfigurationLink({ workspaceId, path }: { workspaceId: string; path: string }) {
  return (
    <Link to="/workspaces/$workspaceId/configuration" params={{ workspaceId }} search={{ path }} data-full={path}>
      <bdi>{fileName(path)}</bdi>
    </Link>
  )
}

/** How the newest run went, and with which model, if that is not the one of the configuration. */
function Newest({ run, model }: { run: Run | undefined; model: string }) {
  if (!run) return <span className="muted">no run yet</span>
  const state = stateOf(run)
  return (
    <>
      {state !== 'finished' && (
        <Link to="/runs/$runId" params={{ runId: run.id }}>
          <Status state={state} stopping={run.stop_requested} />
        </Link>
      )}
      {run.primary && <Score metric={run.primary} show="stack" going={isGoing(run)} />}
      {state === 'finished' && !run.primary && <span className="muted">no score</span>}
      {modelWords(run.model).name !== modelWords(model).name && (
        <span className={styles.subject}>with {modelText(run.model)}</span>
      )}
    </>
  )
}

function Invalid() {
  return (
    <Badge tone="bad" icon="error" title="It cannot be run; the sync says what to mend.">
      invalid
    </Badge>
  )
}

/** The newest run of each configuration, among the last hundred of the workspace. */
function useNewestRuns(workspaceId: string): ReadonlyMap<string, Run> {
  const runs = useDocument('/api/runs', {
    query: { workspace: workspaceId, kind: ['rollout'], limit: 100 },
  })
  const found = new Map<string, Run>()
  for (const run of runs.data?.items ?? []) {
    const path = run.request?.evaluation?.configuration
    if (path && !found.has(path)) found.set(path, run)
  }
  return found
}
