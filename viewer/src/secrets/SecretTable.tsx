import { useState } from 'react'
import { del } from '../api/client'
import type { Schema } from '../api/types'
import { Badge } from '../parts/Badge'
import { ConfirmDialog } from '../parts/ConfirmDialog'
import { Menu } from '../parts/Menu'
import { PlainTable } from '../parts/PlainTable'
import { useChange } from '../parts/useChange'
import { When } from '../parts/When'

type Secret = Schema<'WorkspaceSecret'>

/** The secrets of a workspace, and whether those of the workspace may be changed. */
interface SecretTableProps {
  workspaceId: string
  secrets: readonly Secret[]
  manages: boolean
  /** Begin to set a secret again. */
  onSet: (secret: Secret) => void
}

/** Secrets by name; their values are never shown. */
export function SecretTable({ workspaceId, secrets, manages, onSet }: SecretTableProps) {
  const [doomed, setDoomed] = useState<Secret>()
  const remove = useChange(
    ({ name, scope }: Secret) => {
      const params = { workspace: workspaceId, name }
      return scope === 'personal'
        ? del('/api/workspaces/{workspace}/secrets/personal/{name}', { params })
        : del('/api/workspaces/{workspace}/secrets/workspace/{name}', { params })
    },
    { done: `Deleted ${doomed?.name}.`, after: () => setDoomed(undefined) },
  )
  return (
    <>
      <PlainTable label="Table of secrets">
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">For</th>
            <th scope="col" data-minor>
              Set by
            </th>
            <th scope="col">Set</th>
            <th scope="col" data-minor>
              Last used
            </th>
            <th scope="col">
              <span className="hidden-text">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {secrets.map((secret) => (
            <tr key={`${secret.scope} ${secret.name}`}>
              <th scope="row">
                <bdi data-full={secret.name}>
                  <code>{secret.name}</code>
                </bdi>{' '}
                {!secret.usable && (
                  <Badge tone="bad" icon="warning" title="The server lacks the key that encrypted it; set it again.">
                    unreadable
                  </Badge>
                )}
              </th>
              <td>{secret.scope === 'personal' ? 'your runs' : 'every run'}</td>
              <td data-minor>
                <bdi>{secret.created_by ?? '–'}</bdi>
              </td>
              <td>
                <When at={secret.updated_at} />
              </td>
              <td data-minor>{secret.last_used_at ? <When at={secret.last_used_at} /> : 'never'}</td>
              <td data-numeric>
                {(manages || secret.scope === 'personal') && (
                  <Menu
                    label={`Change ${secret.name} for ${secret.scope === 'personal' ? 'your runs' : 'every run'}`}
                    icon="menu"
                    small
                    items={[
                      { label: 'Set another value…', onChoose: () => onSet(secret) },
                      { label: 'Delete…', danger: true, onChoose: () => setDoomed(secret) },
                    ]}
                  />
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </PlainTable>
      <ConfirmDialog
        open={doomed !== undefined}
        title={`Delete ${doomed?.name}?`}
        confirm="Delete secret"
        danger
        busy={remove.isPending}
        onConfirm={() => doomed && remove.mutate(doomed)}
        onClose={() => setDoomed(undefined)}
      >
        <p>Runs that start from now on do not get it. Its value cannot be restored.</p>
      </ConfirmDialog>
    </>
  )
}
