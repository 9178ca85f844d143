import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useMemo } from 'react'
import { plural } from '../format'
import { Button } from '../parts/Button'
import { Failure } from '../parts/Failure'
import { Page } from '../parts/Page'
import { Skeleton } from '../parts/Skeleton'
import { CompareBenchmark } from './CompareBenchmark'
import { CompareDifferences } from './CompareDifferences'
import { CompareEmpty } from './CompareEmpty'
import { type Label, labelsOf } from './CompareLabels'
import styles from './ComparePage.module.css'
import { CompareRuns } from './CompareRuns'
import { type CompareSearch, withBaseline } from './CompareSearch'
import type { Comparison } from './CompareVerdict'
import { compareQuery } from './compareQuery'
import { ContestView } from './contest/ContestView'

const LIVE_MS = 5_000

/** Runs side by side, or a stored comparison of two models. */
export function ComparePage() {
  const search = useSearch({ from: '/compare' })
  if (search.comparison !== undefined && search.run === undefined) return <ContestView id={search.comparison} />
  return <RunsCompared search={search} />
}

/** Two or more runs side by side: which one is better, by how much, whether it could be chance, in which tasks. */
function RunsCompared({ search }: { search: CompareSearch }) {
  const navigate = useNavigate({ from: '/compare' })
  const change = (next: CompareSearch) => void navigate({ search: next, resetScroll: false })
  const ids = search.run ?? []
  const enough = ids.length > 1
  const { data, error, isPlaceholderData, refetch } = useQuery({
    ...compareQuery(search),
    enabled: enough,
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => (goesOn(state.data) ? LIVE_MS : false),
  })
  const comparison = enough ? data : undefined
  const labels = useMemo(() => labelsOf(comparison?.runs ?? []), [comparison?.runs])
  const [first, second] = ids
  return (
    <Page
      title={titleOf([...labels.values()])}
      heading="Compare"
      note={enough ? 'Each run is compared with the first one, the baseline.' : undefined}
      actions={
        first !== undefined &&
        second !== undefined &&
        ids.length === 2 && (
          <Button icon="compare" onClick={() => change(withBaseline(search, second))}>
            Swap
          </Button>
        )
      }
    >
      {!enough && <CompareEmpty chosen={ids.length} />}
      <CompareRuns
        search={search}
        onChange={change}
        runs={isPlaceholderData ? undefined : comparison?.runs}
        waiting={enough && !error}
      />
      {enough && error && (
        <Failure error={error} title="The runs could not be compared" onRetry={() => void refetch()} />
      )}
      {enough && !error && comparison === undefined && <Skeleton height="24rem" />}
      {comparison && (
        <div className={styles.parts} data-stale={isPlaceholderData || undefined} aria-busy={isPlaceholderData}>
          {comparison.benchmarks.map((benchmark) => (
            <CompareBenchmark
              key={benchmark.benchmark}
              benchmark={benchmark}
              runs={comparison.runs}
              labels={labels}
              search={search}
              onChange={change}
            />
          ))}
          <CompareDifferences comparison={comparison} labels={labels} />
        </div>
      )}
    </Page>
  )
}

function titleOf(labels: readonly Label[]): string {
  if (labels.length < 2) return 'Compare'
  const [first, second] = labels.map((label) => label.name.slice(0, 60))
  return labels.length === 2 ? `${first} and ${second}` : `${first} and ${plural(labels.length - 1, 'other run')}`
}

function goesOn(comparison: Comparison | undefined): boolean {
  return comparison?.runs.some((run) => run.state === 'running' || run.state === 'pending') ?? false
}
