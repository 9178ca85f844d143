/** One benchmark: who is best, how that came about, and what it asks for. */

import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { documentQuery } from '../api/query'
import type { Schema } from '../api/types'
import { plural } from '../format'
import { Badge } from '../parts/Badge'
import { Failure } from '../parts/Failure'
import { LinkButton } from '../parts/LinkButton'
import { Page } from '../parts/Page'
import { PageSkeleton } from '../parts/PageSkeleton'
import { Panel } from '../parts/Panel'
import { When } from '../parts/When'
import { place } from '../place'
import { Markdown } from '../renderers/Markdown'
import { AboutPanel } from './AboutPanel'
import styles from './BenchmarkPage.module.css'
import { LOOK_AGAIN_MS, looking } from './coverage'
import { HistoryPanel } from './HistoryPanel'
import { Leaderboard } from './Leaderboard'
import { MetricList } from './MetricList'
import { metricWords } from './metrics'
import { ParameterList } from './ParameterList'
import { PublishedList } from './PublishedList'
import { RequirementList } from './RequirementList'
import { VersionList } from './VersionList'
import { VowView } from './VowView'
import { vowWords } from './vow'

export function BenchmarkPage() {
  const { benchmarkId } = useParams({ from: '/benchmarks/$benchmarkId' })
  const { data, error, refetch } = useQuery({
    ...documentQuery('/api/benchmarks/{benchmark_id}', { params: { benchmark_id: benchmarkId } }),
    refetchInterval: ({ state }) => (state.data !== undefined && looking(state.data) ? LOOK_AGAIN_MS : false),
  })
  if (data !== undefined) return <BenchmarkView key={data.id} benchmark={data} />
  if (error === null) return <PageSkeleton />
  return (
    <Page title="Benchmark" trail={<Link to="/benchmarks">Benchmarks</Link>}>
      <Failure error={error} title="This benchmark could not be loaded" onRetry={() => void refetch()} />
    </Page>
  )
}

function BenchmarkView({ benchmark }: { benchmark: Schema<'BenchmarkDetail'> }) {
  const { model } = useSearch({ from: '/benchmarks/$benchmarkId' })
  const navigate = useNavigate({ from: '/benchmarks/$benchmarkId' })
  const { id, title, version, kind, runs, info, description } = benchmark
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
      note={description && <Markdown text={description} links />}
      actions={
        place.mode === 'server' &&
        benchmark.hosted && (
          <LinkButton to="/new-run" search={{ benchmark: id }} look="primary" icon="play">
            Run it
          </LinkButton>
        )
      }
    >
      <Facts benchmark={benchmark} />
      {catalogued(benchmark) && <AboutPanel benchmark={benchmark} />}
      {runs > 0 && <Leaderboard benchmark={benchmark} />}
      {runs > 0 && (
        <HistoryPanel
          benchmark={benchmark}
          model={model}
          onModel={(next) => void navigate({ search: { model: next }, replace: true, resetScroll: false })}
        />
      )}
      <Parts benchmark={benchmark} />
      {vow !== null && (
        <Panel title="Binding vow" note="the contract of the environment">
          <VowView vow={vow} />
        </Panel>
      )}
      {metrics.length > 0 && (
        <Panel title="Metrics" flush>
          <MetricList metrics={metrics} />
        </Panel>
      )}
      {runs > 0 && (
        <Panel title="Versions" note="runs on the same content are comparable" flush>
          <VersionList versions={benchmark.all_versions} current={benchmark.digest} />
        </Panel>
      )}
    </Page>
  )
}

/** Its id, and how much was run of it. */
function Facts({ benchmark: { id, runs, models, last_run_at } }: { benchmark: Schema<'BenchmarkDetail'> }) {
  return (
    <p className={styles.facts}>
      <code>{id}</code>
      {runs === 0 ? (
        <span>never run</span>
      ) : (
        <>
          <span>{plural(runs, 'run')}</span>
          <span>{plural(models, 'model')}</span>
          <span>
            last run <When at={last_run_at} />
          </span>
        </>
      )}
    </p>
  )
}

/** What its descriptor says: published scores, requirements, parameters. */
function Parts({ benchmark: { references, requirements, parameters } }: { benchmark: Schema<'BenchmarkDetail'> }) {
  return (
    <>
      {references.length > 0 && (
        <Panel title="Published scores" flush>
          <PublishedList references={references} />
        </Panel>
      )}
      {requirements.length > 0 && (
        <Panel title="Requirements" note="with its default settings" flush>
          <RequirementList requirements={requirements} />
        </Panel>
      )}
      {parameters.length > 0 && (
        <Panel title="Parameters" note="set with --extra" flush>
          <ParameterList parameters={parameters} />
        </Panel>
      )}
    </>
  )
}

/** Whether there is a descriptor, here or in what its runs recorded. */
function catalogued({ command, source }: Schema<'BenchmarkDetail'>): boolean {
  return command !== null || source !== ''
}
