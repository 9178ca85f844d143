/** Benchmarks as rows. */

import { Link, useNavigate } from '@tanstack/react-router'
import { useMemo } from 'react'
import type { Schema } from '../api/types'
import { count } from '../format'
import type { Column } from '../parts/column'
import { useNarrow } from '../parts/useNarrow'
import { VirtualTable } from '../parts/VirtualTable'
import { When } from '../parts/When'
import styles from './BenchmarkList.module.css'
import { BestScore } from './BestScore'
import { CoverageView } from './CoverageView'
import { versionWords } from './contents'
import { coverageWords } from './coverage'

type Benchmark = Schema<'BenchmarkSummary'>

interface BenchmarkListProps {
  items: readonly Benchmark[]
  waiting: boolean
  onMore: () => void
}

export function BenchmarkList({ items, waiting, onMore }: BenchmarkListProps) {
  const navigate = useNavigate()
  const narrow = useNarrow()
  const columns = useMemo(() => (narrow ? NARROW : COLUMNS), [narrow])
  return (
    <VirtualTable
      label="Benchmarks"
      columns={columns}
      count={waiting ? 6 : items.length}
      getRow={(index) => items[index]}
      rowKey={({ id }) => id}
      rowHeight={narrow ? 92 : 64}
      maxHeight="calc(100dvh - 13rem)"
      onOpen={({ id }) => void navigate({ to: '/benchmarks/$benchmarkId', params: { benchmarkId: id } })}
      onMore={onMore}
      shortcuts
    />
  )
}

function Name({ benchmark, covered = false }: { benchmark: Benchmark; covered?: boolean }) {
  const { id, title, description, coverage } = benchmark
  const { word, numbers } = coverageWords(coverage)
  return (
    <span className={styles.lines} data-full={description.slice(0, 1_000)}>
      <Link to="/benchmarks/$benchmarkId" params={{ benchmarkId: id }} className={styles.name}>
        <bdi>{title || id}</bdi>
      </Link>
      <span className={styles.second}>
        {covered && coverage.state !== 'never' && `${[word, numbers].filter(Boolean).join(', ')}: `}
        {/* A description may begin with a heading of Markdown. */}
        <bdi>{description.replace(/^#+\s+/, '').slice(0, 300) || id}</bdi>
      </span>
    </span>
  )
}

function Version({ benchmark }: { benchmark: Benchmark }) {
  const { text, older, title } = versionWords(benchmark)
  return (
    <span className={styles.lines} data-full={title}>
      <span>{text}</span>
      {older !== '' && <span className={styles.second}>{older}</span>}
    </span>
  )
}

const COLUMNS: Column<Benchmark>[] = [
  { key: 'name', header: 'Benchmark', width: 220, grow: 2, render: (benchmark) => <Name benchmark={benchmark} /> },
  {
    key: 'coverage',
    header: 'Coverage',
    title: 'The largest number of tasks scored in one run',
    width: 168,
    priority: 2,
    render: (benchmark) => <CoverageView benchmark={benchmark} />,
  },
  { key: 'kind', header: 'Kind', width: 110, priority: 5, render: ({ kind }) => kind },
  {
    key: 'version',
    header: 'Version',
    width: 90,
    priority: 6,
    render: (benchmark) => <Version benchmark={benchmark} />,
  },
  { key: 'runs', header: 'Runs', width: 70, align: 'end', priority: 3, render: ({ runs }) => count(runs) },
  { key: 'models', header: 'Models', width: 70, align: 'end', priority: 4, render: ({ models }) => count(models) },
  {
    key: 'best',
    header: 'Best score, from floor to ceiling',
    title: 'The best score of any run. Other runs may be tied with it; see the page of the benchmark',
    width: 300,
    grow: 1,
    render: (benchmark) => <BestScore benchmark={benchmark} />,
  },
  { key: 'last', header: 'Last run', width: 124, priority: 2, render: ({ last_run_at }) => <When at={last_run_at} /> },
]

const NARROW: Column<Benchmark>[] = [
  {
    key: 'name',
    header: 'Benchmark',
    width: 200,
    grow: 1,
    render: (benchmark) => (
      <span className={styles.lines}>
        <Name benchmark={benchmark} covered />
        {benchmark.runs === 0 ? <CoverageView benchmark={benchmark} /> : <BestScore benchmark={benchmark} />}
      </span>
    ),
  },
]
