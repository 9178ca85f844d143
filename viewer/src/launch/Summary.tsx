import type { Schema } from '../api/types'
import { compact, count } from '../format'
import { Panel } from '../parts/Panel'
import styles from '../parts/panels.module.css'
import { LimitsPanel } from './LimitsPanel'
import type { Limits } from './limits'
import { mostOf, type RunRequest } from './runRequest'

/** What is measured, how much a run needs at most, and what one may do. */
export function Summary({
  request,
  domain,
  limits,
}: {
  request: RunRequest
  domain: Schema<'Domain'> | undefined
  limits: Limits | undefined
}) {
  const steps = domain?.binding_vow.episode.max_steps
  const most = mostOf(request, steps)
  return (
    <>
      <Panel title="At most">
        <div className={styles.stack}>
          {domain ? (
            <dl className={styles.terms}>
              <dt>Score</dt>
              <dd>{domain.scoring.primary_metric}</dd>
              <dt>Steps per episode</dt>
              <dd className="number">{stepsWords(steps, limits)}</dd>
              {most && (
                <>
                  <dt>Model calls of a run</dt>
                  <dd className="number">at most {count(most.calls)}</dd>
                  <dt>Completion tokens</dt>
                  <dd className="number" data-tip={count(most.tokens)}>
                    at most {compact(most.tokens)}
                  </dd>
                </>
              )}
            </dl>
          ) : (
            <p className="muted">Choose a domain.</p>
          )}
          <p className="muted">
            The server pays for the calls. It rejects runs that are too large and stops runs that exceed their budget.
          </p>
        </div>
      </Panel>
      {limits && <LimitsPanel limits={limits} />}
    </>
  )
}

function stepsWords(steps: number | null | undefined, limits: Limits | undefined): string {
  const most = Math.min(steps || Number.POSITIVE_INFINITY, limits?.steps_per_episode ?? Number.POSITIVE_INFINITY)
  return Number.isFinite(most) ? `at most ${count(most)}` : 'up to the limit of the server'
}
