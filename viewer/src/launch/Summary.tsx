import type { Schema } from '../api/types'
import { compact, count } from '../format'
import { Command } from '../parts/Command'
import { Panel } from '../parts/Panel'
import styles from '../parts/panels.module.css'
import { LimitsPanel } from './LimitsPanel'
import type { Limits } from './limits'
import { mostOf, type RunRequest, requestCommand } from './runRequest'

/** What the run will be: how much it needs at most, what is measured, and the command that starts the same. */
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
    <div className={styles.stack}>
      <Panel title="Estimated usage">
        <div className={styles.stack}>
          {domain ? (
            <dl className={styles.terms}>
              <dt>Score</dt>
              <dd>{domain.scoring.primary_metric}</dd>
              <dt>Steps per episode</dt>
              <dd className="number">{stepsWords(steps, limits)}</dd>
              {most && (
                <>
                  <dt>Model calls</dt>
                  <dd className="number">at most {count(most.calls)}</dd>
                  <dt>Completion tokens</dt>
                  <dd className="number" data-tip={count(most.tokens)}>
                    at most {compact(most.tokens)}
                  </dd>
                </>
              )}
              <dt>Model</dt>
              <dd>
                <bdi>{request.model || '–'}</bdi>
              </dd>
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
      <Panel title="In the terminal">
        <Command>{requestCommand(request)}</Command>
      </Panel>
    </div>
  )
}

function stepsWords(steps: number | null | undefined, limits: Limits | undefined): string {
  const most = Math.min(steps || Number.POSITIVE_INFINITY, limits?.steps_per_episode ?? Number.POSITIVE_INFINITY)
  return Number.isFinite(most) ? `at most ${count(most)}` : 'up to the limit of the server'
}
