/** What came of a rollout: counts, rewards, repetitions, time, money, failures, named scores, slices. */

import { useQuery } from '@tanstack/react-query'
import type { Schema } from '../../api/types'
import { Failure } from '../../parts/Failure'
import { Panel } from '../../parts/Panel'
import { Skeleton } from '../../parts/Skeleton'
import { MetricsTable } from '../MetricsTable'
import type { RunSearch } from '../search'
import { OutcomePanel } from './OutcomePanel'
import { PassesPanel } from './PassesPanel'
import { PassPanel } from './PassPanel'
import { RewardPanel } from './RewardPanel'
import styles from './results.module.css'
import { resultsQuery } from './resultsQuery'
import { SlicesPanel } from './SlicesPanel'
import { SpendPanel } from './SpendPanel'
import { StagePanel } from './StagePanel'

/** What every part of the results needs. */
export interface ResultsProps {
  run: Schema<'RunDetail'>
  search: RunSearch
  onSearch: (search: RunSearch, replace?: boolean) => void
}

export function ResultsView(props: ResultsProps) {
  const { run } = props
  const { data: results, error, refetch } = useQuery(resultsQuery(run.id))
  if (results === undefined) {
    if (error === null) return <Skeleton height="24rem" />
    return <Failure error={error} title="The results could not be loaded" onRetry={() => void refetch()} />
  }
  const repeated = results.passes.length > 1
  return (
    <div className={styles.results}>
      <OutcomePanel results={results} {...props} />
      <div className={styles.two}>
        <RewardPanel results={results} run={run} />
        <PassPanel results={results} run={run} />
        {repeated && <PassesPanel passes={results.passes} />}
        <div className={repeated ? styles.column : styles.parts}>
          <StagePanel results={results} {...props} />
          <SpendPanel results={results} />
        </div>
      </div>
      {results.metrics.length > 0 && (
        <Panel title="Named scores" note="metrics from the workflow and the grader" flush>
          <MetricsTable metrics={results.metrics} unit="sample" />
        </Panel>
      )}
      {results.labels.length > 0 && <SlicesPanel labels={results.labels} {...props} />}
    </div>
  )
}
