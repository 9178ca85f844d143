import { Scatter } from '../charts/Scatter'
import { money } from '../format'
import type { Label } from './CompareLabels'
import type { BenchmarkComparison, Comparison } from './CompareVerdict'

interface CompareCostProps {
  benchmark: BenchmarkComparison
  runs: Comparison['runs']
  labels: ReadonlyMap<string, Label>
}

/** What each run paid for an episode against its score; nothing where not two runs have a known cost, or all are free. */
export function CompareCost({ benchmark, runs, labels }: CompareCostProps) {
  const points = costPoints(benchmark, runs, labels)
  if (points.length < 2 || points.every(({ x }) => x === 0)) return null
  return (
    <Scatter
      title={`Cost and ${benchmark.metric}`}
      points={points}
      labelX="US dollars per episode"
      labelY={benchmark.metric}
      formX={money}
      height={240}
      named
    />
  )
}

export function costPoints(
  { runs: ids, scores }: Pick<BenchmarkComparison, 'runs' | 'scores'>,
  runs: readonly Pick<Comparison['runs'][number], 'id' | 'usage' | 'counts'>[],
  labels: ReadonlyMap<string, Label>,
) {
  return ids.flatMap((id, at) => {
    const run = runs.find((one) => one.id === id)
    const score = scores[at]?.value
    const cost = run?.usage.cost_usd
    if (run === undefined || score == null || cost == null || run.counts.done === 0) return []
    const label = labels.get(id)
    return [{ x: cost / run.counts.done, y: score, label: label ? `${label.letter} ${label.name}` : id }]
  })
}
