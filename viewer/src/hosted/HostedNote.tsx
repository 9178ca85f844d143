import { Link } from '@tanstack/react-router'
import { Badge } from '../parts/Badge'
import styles from '../parts/panels.module.css'
import { VisibilityBadge } from '../runlist/VisibilityBadge'
import { useMe } from '../session/useMe'
import { ownerWords } from './owner'
import { QueueNote } from './QueueNote'
import { isGoing, useHosted } from './useHosted'

/** One line about a run on its page: whose it is, who may see it, what it is played in. */
export function HostedNote({ runId }: { runId: string }) {
  const { data: run } = useHosted(runId)
  const me = useMe()
  if (run === undefined) return null
  return (
    <p className={styles.facts}>
      {run.status === 'pending' && <QueueNote runId={runId} />}
      <VisibilityBadge visibility={run.visibility ?? 'private'} team={run.team_id} />
      {run.protocol != null && (
        <Badge tone="live" title="Played by the protocol of its domain, with seeds drawn by the server">
          official, protocol {run.protocol}
        </Badge>
      )}
      <span>{ownerWords(run, me)}</span>
      <span>
        <Link to="/domains/$domainId" params={{ domainId: run.config.domain_id }}>
          Leaderboard
        </Link>
      </span>
      <span>vow {run.config.binding_vow_version}</span>
      {run.env_version != null && <span>environment version {run.env_version}</span>}
      {run.redacted && <span>Prompts and reasoning are hidden because this public run is not yours.</span>}
      {run.expires_at && isGoing(run) === false && <span>Guest runs are deleted after some time.</span>}
    </p>
  )
}
