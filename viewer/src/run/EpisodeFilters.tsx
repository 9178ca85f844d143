/** What the episode table is filtered by. */

import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import type { Schema } from '../api/types'
import { EPISODE_STATES } from '../api/words'
import { causeWords } from '../cause'
import { count, interval, measure, plural } from '../format'
import { Button } from '../parts/Button'
import { MultiSelect } from '../parts/MultiSelect'
import { type Segment, Segments } from '../parts/Segments'
import { Select } from '../parts/Select'
import { keysOf } from '../search'
import styles from './EpisodeFilters.module.css'
import { isGoing } from './headline'
import { isRollout, thresholdOf, unitOf } from './results/rollout'
import { justBelow } from './results/words'
import { compact, isFiltered, type Outcome, type RunSearch, readRunSearch, unfiltered } from './search'
import { troubles } from './troubles'
import { seriesQuery } from './useRun'
import { type Choice, chosenVerdict, hasVerdicts, verdictCounts, withVerdict } from './verdicts'
import { behaviourWords } from './wrong/words'
import { wrongQuery } from './wrong/wrongQuery'

interface EpisodeFiltersProps {
  run: Schema<'RunDetail'>
  search: RunSearch
  onSearch: (search: RunSearch, replace?: boolean) => void
  total: { count: number | null; exact: boolean }
  /** What can be done with the episodes that are left. */
  children?: ReactNode
}

const OUTCOMES: { value: Outcome | 'any'; label: string }[] = [
  { value: 'any', label: 'Any score' },
  { value: 'pass', label: 'Passed' },
  { value: 'fail', label: 'Not passed' },
  { value: 'scored', label: 'With a score' },
  { value: 'worst', label: 'Counted as worst' },
  { value: 'missing', label: 'Missing score' },
  { value: 'skipped', label: 'Skipped by the grader' },
]

export function EpisodeFilters({ run, search, onSearch, total, children }: EpisodeFiltersProps) {
  const set = (part: Partial<RunSearch>) => onSearch(readRunSearch({ ...search, ...part }))
  const { counts } = run
  const unit = unitOf(run)
  const amounts: Partial<Record<string, number>> = { ...counts, pending: counts.owed }
  // Only what episodes failed of: where just their score is missing, its cause finds none of them.
  const causes = troubles(run.failures, null).map(({ cause, count: some }) => ({
    value: cause,
    label: causeWords(cause).name,
    count: some,
  }))
  return (
    <div className={styles.filters}>
      <Verdicts run={run} search={search} onSearch={onSearch} />
      <MultiSelect
        label="State"
        options={keysOf(EPISODE_STATES)
          .map((value) => ({ value, count: amounts[value] }))
          .filter(({ count: some }) => some !== 0)}
        selected={search.state ?? []}
        onChange={(state) => set(readRunSearch({ state }))}
      />
      {(causes.length > 0 || search.cause) && (
        <MultiSelect
          label="Cause"
          options={causes}
          selected={search.cause ?? []}
          onChange={(cause) => set({ cause })}
        />
      )}
      <Removable threshold={thresholdOf(run)} search={search} set={set} onSearch={onSearch} />
      <p className={styles.total} role="status">
        {totalWords(total, isFiltered(search), counts.planned, unit)}
      </p>
      {children}
    </div>
  )
}

/** The verdicts with their counts where every score is one; else what the scores of a run can be. */
function Verdicts({ run, search, onSearch }: Pick<EpisodeFiltersProps, 'run' | 'search' | 'onSearch'>) {
  const series = useQuery(seriesQuery(run.id))
  const wrong = useQuery(wrongQuery(run.id, 'mistake'))
  if (!hasVerdicts(run, series.data?.histogram ?? null)) {
    return (
      <Select
        label="Score"
        hideLabel
        options={outcomesOf(run)}
        value={search.outcome ?? 'any'}
        onChange={(outcome) => onSearch(compact({ ...search, outcome: outcome === 'any' ? undefined : outcome }))}
      />
    )
  }
  const counts = wrong.data === undefined ? null : verdictCounts(run, wrong.data)
  const segments: Segment<Choice>[] = [
    { value: 'all', label: 'All', count: run.counts.planned },
    { value: 'fail', label: 'Not passed', icon: 'close', tone: 'bad', count: counts?.not_passed },
    { value: 'pass', label: 'Passed', icon: 'check', tone: 'good', count: counts?.passed },
    { value: 'missing', label: 'Errors', icon: 'warning', tone: 'warn', count: counts?.error },
  ]
  if ((counts?.missing ?? 0) > 0) {
    segments.push({
      value: 'pending',
      label: isGoing(run) ? 'Still to play' : 'Missing',
      icon: 'dash',
      count: counts?.missing,
    })
  }
  return (
    <Segments
      label="Verdict"
      segments={segments}
      value={chosenVerdict(search)}
      onChange={(choice) => onSearch(withVerdict(search, choice))}
    />
  )
}

/** Outcomes that a run can have: passing is of those with a threshold for each episode, skipping of rollouts. */
function outcomesOf(run: EpisodeFiltersProps['run']): typeof OUTCOMES {
  const passes = run.primary?.aggregation === 'pass_rate'
  return OUTCOMES.filter(({ value }) => {
    if (value === 'skipped') return isRollout(run)
    return passes || (value !== 'pass' && value !== 'fail')
  })
}

interface RemovableProps extends Pick<EpisodeFiltersProps, 'search' | 'onSearch'> {
  set: (part: Partial<RunSearch>) => void
  threshold: number | null
}

/** Filters that were set elsewhere, to be taken away. */
function Removable({ search, set, onSearch, threshold }: RemovableProps) {
  return (
    <>
      {(search.low !== undefined || search.high !== undefined) && (
        <Button
          icon="close"
          look="quiet"
          onClick={() => set({ low: undefined, high: undefined })}
          data-tip="Remove this filter"
        >
          {rangeWords(search, threshold)}
        </Button>
      )}
      {search.task !== undefined && (
        <Button icon="close" look="quiet" onClick={() => set({ task: undefined })} data-tip="Remove this filter">
          one task
        </Button>
      )}
      {search.mistake !== undefined && (
        <Button icon="close" look="quiet" onClick={() => set({ mistake: undefined })} data-tip="Remove this filter">
          {search.mistake}
        </Button>
      )}
      {search.behaviour !== undefined && (
        <Button icon="close" look="quiet" onClick={() => set({ behaviour: undefined })} data-tip="Remove this filter">
          {behaviourWords(search.behaviour)}
        </Button>
      )}
      {search.label !== undefined && (
        <Button icon="close" look="quiet" onClick={() => set({ label: undefined })} data-tip="Remove this filter">
          {search.label}
        </Button>
      )}
      {isFiltered(search) && (
        <Button look="quiet" onClick={() => onSearch(unfiltered(search))}>
          Clear filters
        </Button>
      )}
    </>
  )
}

function rangeWords({ low, high }: RunSearch, threshold: number | null): string {
  if (threshold !== null && low === undefined && high === justBelow(threshold)) return `score < ${measure(threshold)}`
  if (low !== undefined && high !== undefined) return `score in ${interval(low, high)}`
  return low !== undefined ? `score ≥ ${measure(low)}` : `score ≤ ${measure(high)}`
}

function totalWords(
  { count: some, exact }: EpisodeFiltersProps['total'],
  filtered: boolean,
  planned: number,
  unit: string,
): string {
  if (!filtered) return plural(planned, unit)
  if (some === null) return `of ${count(planned)}`
  return `${exact ? '' : 'at least '}${count(some)} of ${count(planned)}`
}
