import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useDocument } from '../api/query'
import type { Schema } from '../api/types'
import { plural } from '../format'
import { Icon } from '../parts/Icon'
import { Panel } from '../parts/Panel'
import { fileName, secretsOf } from '../rollouts/code'
import { useMissingSecrets } from '../secrets/SecretNeeds'
import styles from './workspaces.module.css'

interface AttentionProps {
  workspaceId: string
  /** Whether the user may set secrets. */
  works: boolean
}

/** What keeps runs of the workspace from starting: missing secrets, faults in the code, schedules that were refused. */
export function AttentionPanel({ workspaceId, works }: AttentionProps) {
  const params = { workspace: workspaceId }
  const code = useDocument('/api/workspaces/{workspace}/code', { params }).data ?? []
  const schedules = useDocument('/api/workspaces/{workspace}/schedules', { params }).data ?? []
  const newest = code[0]
  const valid = newest?.configurations.filter(({ valid: runs }) => runs) ?? []
  const missing = useMissingSecrets(workspaceId, works ? secretsOf(valid) : []) ?? []
  const broken = newest?.configurations.filter(({ valid: runs }) => !runs) ?? []
  const entries: ReactNode[] = [
    ...missing.map((name) => (
      <li key={`secret ${name}`}>
        <Icon name="warning" />
        <span>
          <code>{name}</code> has no value for your runs; {needing(valid, name)} it.
        </span>
        <Link to="/workspaces/$workspaceId/secrets" params={{ workspaceId }} search={{ needs: [name] }}>
          Set it
        </Link>
      </li>
    )),
    broken.length > 0 && newest && (
      <li key="broken">
        <Icon name="warning" />
        <span>
          {plural(broken.length, 'configuration')} cannot be run: {broken.map(({ path }) => fileName(path)).join(', ')}
        </span>
        {newest.sync !== null && (
          <Link
            to="/workspaces/$workspaceId/repository/syncs/$number"
            params={{ workspaceId, number: String(newest.sync) }}
          >
            What to mend
          </Link>
        )}
      </li>
    ),
    ...schedules
      .filter(({ fault }) => fault !== '')
      .map(({ id, name, fault }) => (
        <li key={`schedule ${id}`}>
          <Icon name="warning" />
          <span>
            <bdi>{name}</bdi>: <bdi>{fault}</bdi>
          </span>
          <Link to="/workspaces/$workspaceId/schedules/$scheduleId" params={{ workspaceId, scheduleId: id }}>
            Schedule
          </Link>
        </li>
      )),
  ].filter(Boolean)
  if (entries.length === 0) return null
  return (
    <Panel title="To do">
      <ul className={styles.todo} aria-label="To do">
        {entries}
      </ul>
    </Panel>
  )
}

/** Which configurations require a secret, with the verb. */
function needing(configurations: readonly Schema<'SyncedConfigurationDocument'>[], name: string): string {
  const found = configurations.filter(({ secrets }) => secrets.includes(name)).map(({ path }) => fileName(path))
  if (found.length > 2) return `${found.length} configurations need`
  return `${found.join(' and ')} ${found.length === 1 ? 'needs' : 'need'}`
}
