/** The line below a run's name: what was run, by whom, when, and what it is called in commands. */

import { Link } from '@tanstack/react-router'
import type { Schema } from '../api/types'
import { CopyButton } from '../parts/CopyButton'
import { When } from '../parts/When'
import { isObject } from '../renderers/talk'
import { GroupLink } from '../runs/GroupLink'
import { ModelName } from '../runs/ModelName'
import { shortId } from '../runs/runName'
import { frameworkName } from './facts'
import styles from './RunNote.module.css'
import { isRollout } from './results/rollout'

export function RunNote({ run }: { run: Schema<'RunDetail'> }) {
  return (
    <span className={styles.note}>
      <Played run={run} />
      {frameworkName(run) !== '' && <span>{frameworkName(run)}</span>}
      <Origin provenance={run.provenance} />
      <Scans provenance={run.provenance} />
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

/** Where a fork or a scan comes from. */
function Origin({ provenance }: { provenance: Schema<'RunDetail'>['provenance'] }) {
  const { fork, scan_of: scanned } = provenance
  if (isObject(fork) && typeof fork.episode === 'string') {
    return (
      <Link to="/episodes/$episodeId" params={{ episodeId: fork.episode }} search={{ step: Number(fork.step) || 0 }}>
        forked at step {Number(fork.step) || 0}
      </Link>
    )
  }
  if (typeof scanned !== 'string') return null
  return (
    <Link to="/runs/$runId" params={{ runId: scanned }}>
      the run that was read
    </Link>
  )
}

/** What models were asked about the transcripts of a run, each with a link to what they read and replied. */
function Scans({ provenance: { scans } }: { provenance: Schema<'RunDetail'>['provenance'] }) {
  if (!isObject(scans)) return null
  return Object.entries(scans).map(([name, scan]) => {
    const asked = isObject(scan) && Array.isArray(scan.runs) ? scan.runs.at(-1) : undefined
    if (!isObject(scan) || typeof asked !== 'string') return null
    return (
      <Link key={name} to="/runs/$runId" params={{ runId: asked }} data-tip={`${scan.question} Asked of ${scan.model}`}>
        scan {name}
      </Link>
    )
  })
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
