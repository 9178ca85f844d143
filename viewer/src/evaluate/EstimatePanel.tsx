import type { UseQueryResult } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { Schema } from '../api/types'
import { compact, count, money, plural, sentence } from '../format'
import { Badge } from '../parts/Badge'
import { Failure } from '../parts/Failure'
import { LinkButton } from '../parts/LinkButton'
import { Panel } from '../parts/Panel'
import styles from '../parts/panels.module.css'
import { Skeleton } from '../parts/Skeleton'

type Estimate = Schema<'RunEstimate'>

interface EstimateProps {
  estimate: UseQueryResult<Estimate>
  /** Whether all that is needed is chosen. */
  ready: boolean
}

/** What the evaluation would come to, or why the server would refuse it. */
export function EstimatePanel({ estimate, ready }: EstimateProps) {
  return (
    <Panel title="Before it starts">
      <div aria-live="polite" aria-busy={estimate.isFetching}>
        <Content estimate={estimate} ready={ready} />
      </div>
    </Panel>
  )
}

function Content({ estimate, ready }: EstimateProps) {
  if (!ready) return <p className="muted">Choose code and configuration.</p>
  if (estimate.error) return <Failure error={estimate.error} title="The server would refuse this" />
  if (estimate.data === undefined) return <Skeleton height="9rem" />
  return <Facts estimate={estimate.data} />
}

function Facts({ estimate }: { estimate: Estimate }) {
  const { rows, trials, samples, tokens, basis, notes, warnings } = estimate
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
        <dt>Model</dt>
        <dd>
          <bdi>{estimate.model}</bdi>
        </dd>
        <dt>Code</dt>
        <dd>
          {estimate.rollout} {estimate.branch} <code>{estimate.commit.slice(0, 7)}</code>
          {estimate.dirty && ' with changes'}
        </dd>
        {tokens !== null && (
          <>
            <dt>Tokens</dt>
            <dd className="number" data-tip={count(tokens)}>
              about {compact(tokens)}
            </dd>
          </>
        )}
        <dt>Cost</dt>
        <dd className="number">{costWords(estimate)}</dd>
        {estimate.budget_usd !== null && (
          <>
            <dt>Stops at</dt>
            <dd className="number">{money(estimate.budget_usd)}</dd>
          </>
        )}
        {basis !== null && (
          <>
            <dt>Estimated from</dt>
            <dd>
              <Link to="/runs/$runId" params={{ runId: basis.run_id }}>
                <bdi>{basis.name}</bdi>
              </Link>{' '}
              <span className="muted">
                {plural(basis.samples, 'sample')}
                {basis.model !== estimate.model && `, ${basis.model}`}
              </span>
            </dd>
          </>
        )}
      </dl>
      <Secrets estimate={estimate} />
      {[...warnings, ...notes].map((words) => (
        <p key={words} className="muted">
          {sentence(words)}
        </p>
      ))}
    </div>
  )
}

/** The cost in words. */
export function costWords({ usd, price, basis }: Estimate): string {
  if (usd !== null) return usd === 0 ? '$0' : `about ${money(usd)}`
  if (price === null) return 'unknown: the model has no price'
  return basis === null ? 'unknown before the first run' : 'unknown'
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
