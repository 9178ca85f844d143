/** The metrics of a run and its charts. */

import { useQuery } from '@tanstack/react-query'
import type { Schema } from '../api/types'
import { BinnedLine } from '../charts/BinnedLine'
import { Contrast } from '../charts/Contrast'
import { TimeBars } from '../charts/TimeBars'
import { measure, money } from '../format'
import { Failure } from '../parts/Failure'
import { Panel } from '../parts/Panel'
import { Skeleton } from '../parts/Skeleton'
import styles from './Charts.module.css'
import { MetricsTable } from './MetricsTable'
import { PassesPanel } from './results/PassesPanel'
import { resultsQuery } from './results/resultsQuery'
import { isRollout, unitOf } from './results/rollout'
import { contrastProps, joinedBins, pointWords, soFar, timeLayers, worstOfAll } from './series'
import { curvesQuery } from './useRun'

export function Charts({ run }: { run: Schema<'RunDetail'> }) {
  const { data, error, refetch } = useQuery(curvesQuery(run.id))
  return (
    <div className={styles.charts}>
      <Panel title="Metrics" flush>
        <MetricsTable metrics={run.metrics} unit={unitOf(run)} />
      </Panel>
      {!isRollout(run) && <Repeated runId={run.id} />}
      {error !== null && data === undefined && (
        <Failure error={error} title="The charts could not be loaded" onRetry={() => void refetch()} />
      )}
      {error === null && data === undefined && <Skeleton height="16rem" />}
      {data !== undefined && <SeriesCharts run={run} series={data} />}
    </div>
  )
}

/** pass@k and pass^k, if tasks were tried several times; rollouts have them among their results. */
function Repeated({ runId }: { runId: string }) {
  const { data } = useQuery(resultsQuery(runId))
  return data !== undefined && data.passes.length > 1 ? <PassesPanel passes={data.passes} /> : null
}

function SeriesCharts({ run, series }: { run: Schema<'RunDetail'>; series: Schema<'RunSeriesDocument'> }) {
  const { at, seconds, ordinary, failed, tokens, cost, unpriced } = timeLayers(series.over_time)
  if (at.length === 0) return <p className="muted">The charts appear with the first finished {unitOf(run)}.</p>
  const name = series.score ?? run.primary?.name ?? 'score'
  const value = run.primary?.value
  const worst = worstOfAll(run)
  const complete = worst !== null || run.counts.failed === 0
  return (
    <div className={styles.grid}>
      {series.cumulative.length > 1 && (
        <Panel>
          <BinnedLine
            title={`${run.primary?.name ?? name} so far, with its 95 % interval`}
            bins={series.cumulative.map(soFar)}
            domain={run.primary?.aggregation === 'pass_rate' ? [0, 1] : undefined}
            labelX={`${unitOf(run)}s of the plan`}
          />
        </Panel>
      )}
      {series.contrasts.map((contrast) => (
        <Panel key={contrast.name}>
          <Contrast {...contrastProps(contrast, unitOf(run))} />
        </Panel>
      ))}
      <Panel>
        <BinnedLine
          title={
            complete
              ? `${name} by position in the plan`
              : `${name} by position in the plan, without failed ${unitOf(run)}s`
          }
          bins={joinedBins(series.by_position, worst)}
          domain={run.primary?.aggregation === 'pass_rate' ? [0, 1] : undefined}
          labelX={`${unitOf(run)} (position in the plan), ${pointWords(series.by_position, unitOf(run))}`}
          reference={value == null ? undefined : { value, label: `run: ${measure(value)}` }}
        />
      </Panel>
      <Panel>
        <TimeBars
          title={isRollout(run) ? 'Samples over time' : 'Episodes over time'}
          at={at}
          seconds={seconds}
          layers={[
            { label: 'not failed', colour: 'var(--series-1)', values: ordinary },
            { label: 'failed', colour: 'var(--bad)', values: failed },
          ]}
        />
      </Panel>
      <Panel>
        <TimeBars
          title="Tokens over time"
          at={at}
          seconds={seconds}
          layers={[{ label: 'tokens', colour: 'var(--series-3)', values: tokens }]}
        />
      </Panel>
      {cost.some((usd) => usd > 0) && (
        <Panel>
          <TimeBars
            title={unpriced ? 'Cost over time (calls with a known price)' : 'Cost over time'}
            at={at}
            seconds={seconds}
            form={money}
            layers={[{ label: 'US dollars', colour: 'var(--series-5)', values: cost }]}
          />
        </Panel>
      )}
    </div>
  )
}
