import type { ReactNode } from 'react'
import type { Schema } from '../api/types'
import { compact, count, duration, money, plural } from '../format'
import { Button } from '../parts/Button'
import { CopyButton } from '../parts/CopyButton'
import { Failure } from '../parts/Failure'
import { Key } from '../parts/Key'
import { Panel } from '../parts/Panel'
import panels from '../parts/panels.module.css'
import { Checks } from './Checks'
import styles from './launch.module.css'
import type { Limits } from './limits'
import { type Runs, totalOf } from './runs'
import { StartedBefore } from './StartedBefore'

export interface ForecastSideProps {
  runs: Runs
  /** Whether it was tried to send the form. */
  tried: boolean
  workspace: string
  limits: Limits | undefined
  /** Why nothing can be started now. */
  reason?: string
  /** What must be chosen first, in words. */
  waits: string
  /** A field for the cost at which runs stop. */
  stop?: ReactNode
}

/** What all runs would come to, what stands in their way, and the button that starts them. */
export function ForecastSide({ runs, tried, workspace, limits, reason, waits, stop }: ForecastSideProps) {
  const { ready, forecast, found, start, before, count: amount } = runs
  return (
    <>
      <Panel title="Before it starts">
        <div className={panels.stack}>
          <div aria-live="polite" aria-busy={forecast.isFetching} className={panels.stack}>
            {forecast.error && ready && <Failure error={forecast.error} title="The server cannot estimate this" />}
            {found ? <Numbers forecast={found} limits={limits} /> : <p className="muted">{waits}</p>}
          </div>
          {stop}
          {found && <Checks workspace={workspace} forecast={found} />}
          <StartedBefore before={before} />
          {start.error && <Failure error={start.error} title="The runs could not be started" />}
          <Button type="submit" look="primary" icon="play" busy={start.isPending} className={styles.start}>
            Start {amount === 1 ? '1 run' : `${amount} runs`} <Key keys="Ctrl ⏎" />
          </Button>
          <span role="status" className="muted">
            {tried && !ready ? 'Some fields are missing or invalid.' : reason}
          </span>
        </div>
      </Panel>
      {found && <SameCommand forecast={found} />}
    </>
  )
}

function Numbers({ forecast, limits }: { forecast: Schema<'Forecast'>; limits: Limits | undefined }) {
  const { usd, unknown, runs, places, waiting } = forecast
  const total = totalOf(forecast)
  return (
    <>
      <p className={styles.total}>
        <strong className="number">{usd === null ? 'no estimate' : money(usd.value)}</strong>{' '}
        <span className="muted">{totalWords(forecast)}</span>
      </p>
      <dl className={panels.terms}>
        <dt>Episodes</dt>
        <dd className="number">
          {count(total.episodes)}{' '}
          <span className="muted">
            {plural(runs.length - total.refused, 'run')}
            {total.refused > 0 && `, ${total.refused} refused`}
          </span>
        </dd>
        <dt>Tokens</dt>
        <dd className="number" data-tip={total.tokens === null ? undefined : count(Math.round(total.tokens))}>
          {total.tokens === null ? 'unknown' : `about ${compact(total.tokens)}`}
        </dd>
        <dt>Time</dt>
        <dd className="number">
          {total.seconds === null ? 'unknown' : `about ${duration(total.seconds)}`}{' '}
          <span className="muted">
            {total.seconds !== null && runs.length > 1 && places >= runs.length && 'the runs side by side'}
            {waiting > 0 && ` after ${plural(waiting, 'waiting run')}`}
          </span>
        </dd>
        <dt>Budget left</dt>
        <dd className="number">
          {limits === undefined || limits.budget.left_usd === null
            ? 'no limit'
            : `${money(limits.budget.left_usd)} of ${money(limits.budget.limit_usd)}`}
        </dd>
      </dl>
      {unknown > 0 && usd !== null && (
        <p className="muted">The cost of {plural(unknown, 'run')} is unknown and not in the sum.</p>
      )}
    </>
  )
}

/** The range of the cost, or why there is no cost. */
function totalWords({ usd, runs }: Schema<'Forecast'>): string {
  if (usd === null) {
    const notes = new Set(
      runs.filter(({ refused }) => refused === '').map(({ note }) => note.replace('no estimate: ', '')),
    )
    return [...notes].join('; ')
  }
  return usd.high > usd.low ? `likely ${money(usd.low)} – ${money(usd.high)}` : ''
}

function SameCommand({ forecast }: { forecast: Schema<'Forecast'> }) {
  const lines = forecast.runs.map(({ command }) => command).filter(Boolean)
  if (lines.length === 0) return null
  const text = lines.join('\n')
  return (
    <Panel title="The same as a command" actions={<CopyButton text={text} label="Copy the commands" />}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable */}
      <pre className={styles.command} tabIndex={0}>
        {text}
      </pre>
    </Panel>
  )
}
