/** One benchmark: who is best, how that came about, and what it asks for. */

import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import type { Schema } from '../api/paths'
import { useDocument } from '../api/query'
import { plural } from '../format'
import { Badge } from '../parts/Badge'
import { Failure } from '../parts/Failure'
import { Page } from '../parts/Page'
import { PageSkeleton } from '../parts/PageSkeleton'
import { Panel } from '../parts/Panel'
import { When } from '../parts/When'
import styles from './BenchmarkPage.module.css'
import { HistoryPanel } from './HistoryPanel'
import { Leaderboard } from './Leaderboard'
import { MetricList } from './MetricList'
import { metricWords } from './metrics'
import { VersionList } from './VersionList'
import { VowView } from './VowView'
import { vowWords } from './vow'

export function BenchmarkPage() {
  const { benchmarkId } = useParams({ from: '/benchmarks/$benchmarkId' })
  const { data, error, refetch } = useDocument('/v1/benchmarks/{benchmark_id}', {
    params: { benchmark_id: benchmarkId },
  })
  if (data !== undefined) return <BenchmarkView key={data.id} benchmark={data} />
  if (error === null) return <PageSkeleton />
  return (
    <Page title="Benchmark" trail={<Link to="/benchmarks">Benchmarks</Link>}>
      <Failure error={error} title="This benchmark could not be read" onRetry={() => void refetch()} />
    </Page>
  )
}

function BenchmarkView({ benchmark }: { benchmark: Schema<'BenchmarkDetail'> }) {
  const { model } = useSearch({ from: '/benchmarks/$benchmarkId' })
  const navigate = useNavigate({ from: '/benchmarks/$benchmarkId' })
  const { id, title, version, kind, runs, models, info, description } = benchmark
  const vow = vowWords(info.vow)
  const metrics = metricWords(info.metrics)
  return (
    <Page
      title={title || id}
      heading={<bdi>{title || id}</bdi>}
      trail={<Link to="/benchmarks">Benchmarks</Link>}
      aside={
        <>
          <Badge>{kind}</Badge>
          <Badge>{version}</Badge>
        </>
      }
      note={<bdi>{description}</bdi>}
    >
      <p className={styles.facts}>
        <code>{id}</code>
        <span>{plural(runs, 'run')}</span>
        <span>{plural(models, 'model')}</span>
        <span>
          last run <When at={benchmark.last_run_at} />
        </span>
      </p>
      <Leaderboard benchmark={benchmark} />
      <HistoryPanel
        benchmark={benchmark}
        model={model}
        onModel={(next) => void navigate({ search: { model: next }, replace: true, resetScroll: false })}
      />
      {vow !== null && (
        <Panel title="Binding vow" note="what the environment promises">
          <VowView vow={vow} />
        </Panel>
      )}
      {metrics.length > 0 && (
        <Panel title="Metrics" flush>
          <MetricList metrics={metrics} />
        </Panel>
      )}
      <Panel title="Versions" note="equal content, comparable runs" flush>
        <VersionList versions={benchmark.all_versions} current={benchmark.digest} />
      </Panel>
    </Page>
  )
}
