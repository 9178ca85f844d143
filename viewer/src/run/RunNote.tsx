/** The line below a run's name: what was run, by whom, when, and what it is called in commands. */

import { Link } from '@tanstack/react-router'
import type { Schema } from '../api/types'
import { CopyButton } from '../parts/CopyButton'
import { When } from '../parts/When'
import { GroupLink } from '../runs/GroupLink'
import { ModelName } from '../runs/ModelName'
import { shortId } from '../runs/runName'
import styles from './RunNote.module.css'
import { isRollout } from './results/rollout'

export function RunNote({ run }: { run: Schema<'RunDetail'> }) {
  return (
    <span className={styles.note}>
      <Played run={run} />
      <span className={styles.strong}>
        <ModelName model={run.model} />
      </span>
      <span>
        {isRollout(run) ? 'rollout' : 'agent'} <Agent run={run} />
      </span>
      <span>
        started <When at={run.started_at ?? run.created_at} />
      </span>
      {run.group_id !== null && (
        <span>
          group <GroupLink group={run.group_id} />
        </span>
      )}
      <span data-tip={`Signature ${run.signature}. Runs with the same signature measure the same and are comparable`}>
        attempt {run.attempt}
      </span>
      <span className={styles.id} data-tip={run.id}>
        <code>{shortId(run.id)}</code>
        <CopyButton text={run.id} label="Copy run ID" />
      </span>
    </span>
  )
}

/** What was played: a dataset of a workspace, or a benchmark. */
function Played({ run }: { run: Schema<'RunDetail'> }) {
  const name = <bdi>{run.benchmark_title || run.benchmark}</bdi>
  const evaluation = run.request?.evaluation
  if (evaluation == null)
    return (
      <Link to="/benchmarks/$benchmarkId" params={{ benchmarkId: run.benchmark }}>
        {name}
      </Link>
    )
  const params = { workspaceId: evaluation.workspace, datasetId: evaluation.dataset_id }
  return (
    <span>
      <Link
        to="/workspaces/$workspaceId/datasets/$datasetId"
        params={params}
        search={{ version: evaluation.dataset_version }}
      >
        {name}
      </Link>
      , version {evaluation.dataset_version}
    </span>
  )
}

function Agent({ run }: { run: Schema<'RunDetail'> }) {
  const { workspace = '', rollout = '' } = run.request?.evaluation ?? {}
  if (workspace === '' || rollout === '') return <bdi>{run.agent}</bdi>
  return (
    <Link to="/workspaces/$workspaceId/rollouts/$rollout" params={{ workspaceId: workspace, rollout }}>
      <bdi>{run.agent}</bdi>
    </Link>
  )
}
