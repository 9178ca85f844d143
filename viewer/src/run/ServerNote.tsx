import { Link } from '@tanstack/react-router'
import type { Schema } from '../api/types'
import { Badge } from '../parts/Badge'
import styles from '../parts/panels.module.css'
import { When } from '../parts/When'
import { checkedWords, ImportedBadge } from '../runlist/ImportedBadge'
import { VisibilityBadge } from '../runlist/VisibilityBadge'
import { whoseWords } from '../runs/ownership'
import { useWorkspaces } from '../runs/useWorkspaces'
import { stateOf } from './headline'
import { QueueNote } from './QueueNote'

/** One line about a run of a server: its owner, who may see it, and what it is of. */
export function ServerNote({ run }: { run: Schema<'RunDetail'> }) {
  const { request } = run
  if (request === null) return null
  const state = stateOf(run)
  return (
    <p className={styles.facts}>
      {state === 'pending' && <QueueNote runId={run.id} />}
      <VisibilityBadge visibility={run.visibility ?? 'private'} team={run.team_id} workspace={run.workspace_id} />
      {run.protocol !== null && (
        <Badge tone="live" title="Played by the protocol of its domain, with seeds drawn by the server">
          official, protocol {run.protocol}
        </Badge>
      )}
      <span>
        {whoseWords(run)}
        {run.workspace_id !== null && <InWorkspace id={run.workspace_id} />}
      </span>
      {run.imported !== null && <Origin imported={run.imported} />}
      {request.config !== null && (
        <>
          <span>
            <Link to="/domains/$domainId" params={{ domainId: request.config.domain_id }}>
              Leaderboard
            </Link>
          </span>
          <span>vow {request.config.binding_vow_version}</span>
        </>
      )}
      {request.evaluation !== null && <EvaluationFacts evaluation={request.evaluation} />}
      {request.environment_version !== null && <span>environment version {request.environment_version}</span>}
      {request.redacted && <span>Prompts and reasoning are hidden because this public run is not yours.</span>}
      {request.expires_at !== null && state !== 'pending' && state !== 'running' && (
        <span>Guest runs are deleted after a few days.</span>
      )}
    </p>
  )
}

/** The workspace of a run: by name, with a link, for those who are in it. */
function InWorkspace({ id }: { id: string }) {
  const workspace = useWorkspaces().find((one) => one.id === id)
  if (!workspace) return ' a workspace'
  return (
    <>
      {' the workspace '}
      <Link to="/workspaces/$workspaceId" params={{ workspaceId: id }}>
        <bdi>{workspace.name}</bdi>
      </Link>
    </>
  )
}

/** Where a run that was played elsewhere comes from, and what was checked. */
function Origin({ imported }: { imported: Schema<'Imported'> }) {
  const { at, last_at, by, host, run_id, signature, recomputed } = imported
  return (
    <>
      <ImportedBadge imported={imported} />
      <span>
        pushed <When at={at} />
        {last_at !== at && (
          <>
            , again <When at={last_at} />
          </>
        )}
        {by !== null && (
          <>
            {' by '}
            <bdi>{by}</bdi>
          </>
        )}
        {host !== null && host !== '' && (
          <>
            {' from '}
            <bdi>{host}</bdi>
          </>
        )}
      </span>
      <span data-tip={`Signature ${signature}${run_id === null ? '' : `, there run ${run_id}`}`}>
        signature <code>{signature.slice(0, 10)}</code>
      </span>
      <span>{checkedWords(recomputed)}</span>
    </>
  )
}

function EvaluationFacts({ evaluation }: { evaluation: Schema<'EvaluationDocument'> }) {
  const { workspace, configuration, branch, commit, dirty, message } = evaluation
  return (
    <>
      {configuration !== '' && (
        <span>
          configuration{' '}
          <Link
            to="/workspaces/$workspaceId/configuration"
            params={{ workspaceId: workspace }}
            search={{ path: configuration }}
          >
            <bdi>{configuration}</bdi>
          </Link>
        </span>
      )}
      {commit !== '' && (
        <span data-tip={commit}>
          {branch === '' ? '' : `${branch} at `}
          <code>{commit.slice(0, 10)}</code> <bdi>{message}</bdi>
          {dirty && ' with changes that were not committed'}
        </span>
      )}
    </>
  )
}
