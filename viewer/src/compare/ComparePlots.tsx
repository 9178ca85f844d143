import { ForestPlot, type ForestRow } from '../charts/ForestPlot'
import { signed } from '../format'
import styles from './CompareBenchmark.module.css'
import type { Label } from './CompareLabels'
import {
  type BenchmarkComparison,
  type Direction,
  differenceDomain,
  leadWords,
  type Pair,
  scoreDomain,
} from './CompareVerdict'

const TONES = { a: 'worse', b: 'better', tie: 'tie' } as const

/** Scores and differences with their intervals, drawn. */
export function ComparePlots({
  benchmark,
  labels,
}: {
  benchmark: BenchmarkComparison
  labels: ReadonlyMap<string, Label>
}) {
  const { runs, scores, pairs, metric } = benchmark
  const called = (id: string) => {
    const label = labels.get(id)
    return label ? `${label.letter} ${label.name}` : id
  }
  const scored = runs.map((id, index): ForestRow => {
    const score = scores[index]
    const { value = null, low = null, high = null, weak = false } = score ?? {}
    return { label: called(id), value, low, high, weak }
  })
  const different = pairs.map(
    (pair): ForestRow => ({ ...rowOf(pair, benchmark.higher_is_better), label: called(pair.b) }),
  )
  return (
    <div className={styles.plots}>
      <ForestPlot title={metric} rows={scored} domain={scoreDomain(scored.flatMap(numbers))} />
      {different.length > 0 && (
        <ForestPlot
          title={`Difference to ${called(runs[0] ?? '')}`}
          rows={different}
          differences
          domain={differenceDomain(scored.flatMap(numbers), different.flatMap(numbers))}
        />
      )}
    </div>
  )
}

function rowOf(pair: Pair, direction: Direction): Omit<ForestRow, 'label'> {
  const { ahead, behind } = leadWords(direction)
  const word = { a: behind, b: ahead, tie: 'tie' }[pair.winner]
  const tone = direction === null ? undefined : TONES[pair.winner]
  return {
    value: pair.delta,
    low: pair.low,
    high: pair.high,
    weak: pair.weak,
    tone,
    note: `${signed(pair.delta)} ${word}`,
  }
}

function numbers(row: ForestRow): (number | null)[] {
  return [row.value, row.low, row.high]
}
