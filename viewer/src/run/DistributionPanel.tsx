/** How the primary score is spread over the episodes; a click shows those of one bar. */

import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import type { Schema } from '../api/types'
import { Histogram } from '../charts/Histogram'
import { count, measure } from '../format'
import { Failure } from '../parts/Failure'
import { Panel } from '../parts/Panel'
import { Skeleton } from '../parts/Skeleton'
import { isGoing } from './headline'
import { OutcomeBars } from './OutcomeBars'
import { isRollout, unitOf } from './results/rollout'
import { compact, type RunSearch } from './search'
import { isPassFail, type OutcomeBar, outcomeBars } from './series'
import { seriesQuery } from './useRun'

interface DistributionPanelProps {
  run: Schema<'RunDetail'>
  search: RunSearch
  onSearch: (search: RunSearch) => void
  actions?: ReactNode
}

export function DistributionPanel({ run, search, onSearch, actions }: DistributionPanelProps) {
  const { data, error, refetch } = useQuery(seriesQuery(run.id))
  return (
    <Panel title="Distribution" note={sampleWords(data)} actions={actions}>
      {error !== null && data === undefined && <Failure error={error} onRetry={() => void refetch()} />}
      {error === null && data === undefined && <Skeleton height="9rem" />}
      {data !== undefined && <Distribution run={run} histogram={data.histogram} search={search} onSearch={onSearch} />}
    </Panel>
  )
}

function Distribution({
  run,
  histogram,
  search,
  onSearch,
}: DistributionPanelProps & { histogram: Schema<'HistogramDocument'> | null }) {
  if (
    histogram === null ||
    (histogram.counts.every((some) => some === 0) && histogram.worst + histogram.missing === 0)
  ) {
    return (
      <p className="muted">
        No {unitOf(run)} has a score{isGoing(run) ? ' yet' : ''}.
      </p>
    )
  }
  const show = (filter: OutcomeBar['filter']) =>
    onSearch(compact({ ...search, tab: undefined, low: undefined, high: undefined, outcome: undefined, ...filter }))
  const isChosen = ({ filter }: OutcomeBar) =>
    filter.low === search.low && filter.high === search.high && filter.outcome === search.outcome
  const { counts, worst, missing } = histogram
  const scored = counts.reduce((sum, some) => sum + some, 0)
  const total = scored + worst + missing
  return (
    <>
      {scored > 0 && histogram.low === histogram.high && (
        <p>
          {scored === 1 ? 'The only score is' : `All ${count(scored)} scores are`}{' '}
          <strong>{measure(histogram.low)}</strong>.
        </p>
      )}
      {scored > 0 && histogram.low < histogram.high && !isPassFail(histogram) && (
        <Histogram
          title={`${isRollout(run) ? 'Samples' : 'Episodes'} by ${run.primary?.name ?? 'score'}`}
          low={histogram.low}
          high={histogram.high}
          counts={counts}
          noun={unitOf(run)}
          height={110}
          onChoose={(low, high) => show({ low, high })}
        />
      )}
      <OutcomeBars
        bars={outcomeBars(histogram)}
        total={total}
        isChosen={isChosen}
        onChoose={(bar) => show(isChosen(bar) ? {} : bar.filter)}
      />
    </>
  )
}

function sampleWords(series: Schema<'RunSeriesDocument'> | undefined): string | undefined {
  return series?.sampled == null ? undefined : `estimated from ${series.sampled.toLocaleString('en')} episodes`
}
