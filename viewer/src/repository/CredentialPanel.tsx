import { useState } from 'react'
import { del, put } from '../api/client'
import { ApiError } from '../api/error'
import type { Schema } from '../api/types'
import { Form } from '../form/Form'
import { Badge } from '../parts/Badge'
import { Button } from '../parts/Button'
import { Panel } from '../parts/Panel'
import styles from '../parts/panels.module.css'
import { useChange } from '../parts/useChange'
import { When } from '../parts/When'
import { CredentialFields } from './CredentialFields'
import { credentialBody, NO_CREDENTIAL } from './credential'
import { isSsh } from './places'

type Credential = Schema<'GitCredentialDocument'>

const NAMES: Record<Credential['kind'], string> = { token: 'Token', 'deploy-key': 'Deploy key' }

/** A repository of a workspace that the user manages. */
interface CredentialPanelProps {
  workspaceId: string
  repository: Schema<'RepositoryDocument'>
}

/** What the server reads a private repository with: what is set, and a form to set it. */
export function CredentialPanel({ workspaceId, repository }: CredentialPanelProps) {
  const [draft, setDraft] = useState(NO_CREDENTIAL)
  const [tried, setTried] = useState(false)
  const ssh = isSsh(repository.url)
  const body = credentialBody(draft)
  const set = useChange(
    (given: Schema<'GitCredentialInput'>) =>
      put('/api/workspaces/{workspace}/repository/credentials', { params: { workspace: workspaceId }, body: given }),
    {
      silent: true,
      done: 'Set. The next sync uses it.',
      after: () => {
        setDraft(NO_CREDENTIAL)
        setTried(false)
      },
    },
  )
  const fields = set.error instanceof ApiError ? set.error.fields : {}
  const missing = tried && !body ? { [ssh ? 'deploy_key' : 'token']: 'Enter it.' } : {}
  return (
    <Panel title="Credentials" note="never shown again">
      <div className={styles.stack}>
        {repository.credentials.length > 0 ? (
          <ul className={styles.rows} aria-label="Credentials">
            {repository.credentials.map((one) => (
              <Item key={one.kind} workspaceId={workspaceId} credential={one} />
            ))}
          </ul>
        ) : (
          <p className="muted">None is set, so the server reads only what everybody can.</p>
        )}
        <Form
          label="Set credentials"
          onSubmit={() => {
            setTried(true)
            if (body) set.mutate(body)
          }}
          error={Object.keys(fields).length > 0 ? undefined : set.error}
          title="The credentials could not be set"
          actions={
            <Button type="submit" busy={set.isPending}>
              Set credentials
            </Button>
          }
        >
          <CredentialFields draft={draft} onChange={setDraft} ssh={ssh} problems={{ ...missing, ...fields }} />
        </Form>
      </div>
    </Panel>
  )
}

function Item({ workspaceId, credential }: { workspaceId: string; credential: Credential }) {
  const { kind, created_by, updated_at, last_used_at, usable } = credential
  const remove = useChange(
    () =>
      del('/api/workspaces/{workspace}/repository/credentials/{kind}', { params: { workspace: workspaceId, kind } }),
    { done: `${NAMES[kind]} deleted.` },
  )
  return (
    <li className={styles.actions}>
      <strong>{NAMES[kind]}</strong>
      {!usable && (
        <Badge tone="bad" icon="warning" title="The server lacks the key that encrypted it; set it again.">
          unreadable
        </Badge>
      )}
      <span className="muted">
        set <When at={updated_at} />
        {created_by && (
          <>
            {' by '}
            <bdi>{created_by}</bdi>
          </>
        )}
        {last_used_at ? (
          <>
            , used <When at={last_used_at} />
          </>
        ) : (
          ', never used'
        )}
      </span>
      <Button
        look="quiet"
        busy={remove.isPending}
        onClick={() => remove.mutate(undefined)}
        aria-label={`Delete the ${NAMES[kind].toLowerCase()}`}
      >
        Delete
      </Button>
    </li>
  )
}
