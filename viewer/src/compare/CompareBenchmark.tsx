import { Panel } from '../parts/Panel'
import { Select } from '../parts/Select'
import { clip } from '../runs/clip'
import styles from './CompareBenchmark.module.css'
import { CompareCost } from './CompareCost'
import { CompareHeadline } from './CompareHeadline'
import type { Label } from './CompareLabels'
import { noteWords } from './CompareNote'
import { ComparePairs } from './ComparePairs'
import { ComparePlots } from './ComparePlots'
import type { CompareSearch } from './CompareSearch'
import { CompareTaskView } from './CompareTaskView'
import { type BenchmarkComparison, type Comparison, directionWords } from './CompareVerdict'

/** The runs of one benchmark. */
interface CompareBenchmarkProps {
  benchmark: BenchmarkComparison
  runs: Comparison['runs']
  labels: ReadonlyMap<string, Label>
  search: CompareSearch
  onChange: (search: CompareSearch) => void
}

/** The runs of one benchmark against its baseline: in words, in numbers, drawn, and task by task. */
export function CompareBenchmark({ benchmark, runs, labels, search, onChange }: CompareBenchmarkProps) {
  const { pairs, metrics, metric, higher_is_better: direction } = benchmark
  const note = noteWords(benchmark, labels)
  const chosen = pairs.find((pair) => pair.b === search.against) ?? pairs[0]
  const scored = benchmark.scores.filter((score) => score !== null && score.value !== null).length
  return (
    <Panel
      title={benchmark.benchmark_title || benchmark.benchmark}
      note={directionWords(direction)}
      actions={
        metrics.length > 1 && (
          <Select
            label="Metric"
            options={metrics.map((value) => ({ value }))}
            value={metric}
            onChange={(value) => onChange({ ...search, metric: value })}
          />
        )
      }
    >
      <div className={styles.body}>
        {note !== '' && <p className={styles.note}>{clip(note, 1_000)}</p>}
        {pairs.length > 0 && (
          <ul className={styles.headlines}>
            {pairs.map((pair) => (
              <li key={pair.b}>
                <CompareHeadline pair={pair} labels={labels} direction={direction} />
              </li>
            ))}
          </ul>
        )}
        <ComparePairs benchmark={benchmark} labels={labels} />
        {scored > 1 && <ComparePlots benchmark={benchmark} labels={labels} />}
        <CompareCost benchmark={benchmark} runs={runs} labels={labels} />
        {chosen?.paired && (
          <CompareTaskView
            key={chosen.b}
            benchmark={benchmark}
            pair={chosen}
            labels={labels}
            search={search}
            onChange={onChange}
          />
        )}
      </div>
    </Panel>
  )
}
