import { Link } from '@tanstack/react-router'
import type { Schema } from '../api/types'
import { plural } from '../format'
import { Badge } from '../parts/Badge'
import { PlainTable } from '../parts/PlainTable'
import { ConfigurationLink } from '../rollouts/ConfigurationTable'
import styles from './repository.module.css'

/** The rollouts and configurations of a commit. */
export function Holdings({ workspaceId, detail }: { workspaceId: string; detail: Schema<'SyncDetail'> }) {
  const { rollouts, configurations } = detail
  return (
    <PlainTable label="Table of rollouts and configurations">
      <thead>
        <tr>
          <th scope="col">Name</th>
          <th scope="col" data-minor>
            Kind
          </th>
          <th scope="col">What it is of</th>
          <th scope="col">State</th>
        </tr>
      </thead>
      <tbody>
        {rollouts.map(({ name, entrypoints, requirements, requires_python }) => (
          <tr key={`rollout ${name}`}>
            <th scope="row">
              <Link
                to="/workspaces/$workspaceId/rollouts/$rollout"
                params={{ workspaceId, rollout: name }}
                data-full={name}
              >
                <bdi>{name}</bdi>
              </Link>
            </th>
            <td data-minor>rollout</td>
            <td data-breaks>
              <span className={styles.result} data-full={requirements.join('\n')}>
                {[
                  entrypoints.join(', '),
                  requirements.length > 0 && plural(requirements.length, 'dependency', 'dependencies'),
                  requires_python && `Python ${requires_python}`,
                ]
                  .filter(Boolean)
                  .join(', ') || '–'}
              </span>
            </td>
            <td />
          </tr>
        ))}
        {configurations.map(({ path, valid, rollout, model, dataset }) => (
          <tr key={path}>
            <th scope="row">
              <ConfigurationLink workspaceId={workspaceId} path={path} />
            </th>
            <td data-minor>configuration</td>
            <td data-breaks>
              <span className={styles.result}>
                {[rollout, dataset && `on ${dataset}`, model && `with ${model}`].filter(Boolean).join(' ') || '–'}
              </span>
            </td>
            <td>
              {valid ? (
                <Badge tone="good" icon="check">
                  valid
                </Badge>
              ) : (
                <Badge tone="bad" icon="error" title="It cannot be run; the sync says why.">
                  invalid
                </Badge>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </PlainTable>
  )
}
