import type { UseQueryResult } from '@tanstack/react-query'
import type { Schema } from '../api/types'
import { count, sentence } from '../format'
import { Badge } from '../parts/Badge'
import { LinkButton } from '../parts/LinkButton'
import { Panel } from '../parts/Panel'
import styles from '../parts/panels.module.css'
import { PreviewRows } from './PreviewRows'

type Estimate = Schema<'RunEstimate'>

interface EstimateProps {
  estimate: UseQueryResult<Estimate>
  /** Whether all that is needed is chosen. */
  ready: boolean
}

/** What is evaluated, and its first rows. */
export function EstimateFacts({ estimate: { data, error }, ready }: EstimateProps) {
  if (!ready || error || data === undefined) return null
  return (
    <>
      <Panel title="What is evaluated">
        <Facts estimate={data} />
      </Panel>
      {data.preview.length > 0 && <PreviewRows estimate={data} />}
    </>
  )
}

function Facts({ estimate }: { estimate: Estimate }) {
  const { rows, trials, samples, notes } = estimate
  return (
    <div className={styles.stack}>
      <dl className={styles.terms}>
        <dt>Samples</dt>
        <dd className="number">
          <strong>{count(samples)}</strong>
          {trials > 1 && (
            <span className="muted">
              {' '}
              {count(rows)} × {trials}
            </span>
          )}
        </dd>
        <dt>Rows</dt>
        <dd>
          {estimate.rows_chosen} <span className="muted">of {count(estimate.dataset_rows)}</span>
        </dd>
        <dt>Dataset</dt>
        <dd>
          <bdi>{estimate.dataset}</bdi>, version {estimate.dataset_version}
        </dd>
        <dt>Code</dt>
        <dd>
          {estimate.rollout} {estimate.branch} <code>{estimate.commit.slice(0, 7)}</code>
          {estimate.dirty && ' with changes'}
        </dd>
      </dl>
      <Secrets estimate={estimate} />
      {notes.map((words) => (
        <p key={words} className="muted">
          {sentence(words)}
        </p>
      ))}
    </div>
  )
}

function Secrets({ estimate }: { estimate: Estimate }) {
  const { secrets, missing_secrets: missing, workspace } = estimate
  const names = Object.keys(secrets)
  if (names.length + missing.length === 0) return null
  return (
    <>
      <ul className={styles.rows} aria-label="Secrets">
        {missing.map((name) => (
          <li key={name} className={styles.actions}>
            <code>{name}</code>
            <Badge tone="bad" icon="error">
              missing
            </Badge>
          </li>
        ))}
        {names.map((name) => (
          <li key={name} className={styles.actions}>
            <code>{name}</code>
            <Badge tone="good" icon="check">
              {secrets[name] === 'personal' ? 'yours' : 'set'}
            </Badge>
          </li>
        ))}
      </ul>
      {missing.length > 0 && (
        <LinkButton
          to="/workspaces/$workspaceId/secrets"
          params={{ workspaceId: workspace }}
          search={{ needs: missing }}
        >
          Set {missing.length === 1 ? 'it' : 'them'}
        </LinkButton>
      )}
    </>
  )
}
