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
      <Link to="/benchmarks/$benchmarkId" params={{ benchmarkId: run.benchmark }}>
        <bdi>{run.benchmark_title || run.benchmark}</bdi>
      </Link>
      <span className={styles.strong}>
        <ModelName model={run.model} />
      </span>
      <span>
        {isRollout(run) ? 'rollout' : 'agent'} <bdi>{run.agent}</bdi>
      </span>
      <span>
        started <When at={run.started_at ?? run.created_at} />
      </span>
      {run.group_id !== null && (
        <span>
          group <GroupLink group={run.group_id} />
        </span>
      )}
      <span title={`Signature ${run.signature}. Runs with the same signature measure the same and are comparable`}>
        attempt {run.attempt}
      </span>
      <span className={styles.id} title={run.id}>
        <code>{shortId(run.id)}</code>
        <CopyButton text={run.id} label="Copy run ID" />
      </span>
    </span>
  )
}
