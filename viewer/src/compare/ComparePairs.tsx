import { count, exact, interval, pValue, signed } from '../format'
import { Badge } from '../parts/Badge'
import { PlainTable } from '../parts/PlainTable'
import { Score } from '../parts/Score'
import { useNarrow } from '../parts/useNarrow'
import styles from './CompareBenchmark.module.css'
import type { Label } from './CompareLabels'
import { type BenchmarkComparison, type Direction, leadWords, type Pair, testWords } from './CompareVerdict'
import { CompareWho } from './CompareWho'

/** The runs of one benchmark as a table: score, difference to the baseline, p, and which one wins. */
export function ComparePairs({
  benchmark,
  labels,
}: {
  benchmark: BenchmarkComparison
  labels: ReadonlyMap<string, Label>
}) {
  const { runs, scores, pairs } = benchmark
  const several = pairs.length > 1
  const label = `Scores and differences, ${benchmark.benchmark_title || benchmark.benchmark}`
  const narrow = useNarrow()
  const baseline = labels.get(runs[0] ?? '')?.letter ?? 'baseline'
  return (
    <PlainTable label={label} className={styles.table}>
      <thead>
        <tr>
          <th scope="col">Run</th>
          {!narrow && <th scope="col">{benchmark.metric}</th>}
          {pairs.length > 0 && <PairHeads letter={baseline} several={several} narrow={narrow} />}
        </tr>
      </thead>
      <tbody>
        {runs.map((id, index) => {
          const pair = pairs.find((one) => one.b === id)
          const score = <Score metric={scores[index]} show={narrow ? 'stack' : 'line'} />
          return (
            <tr key={id}>
              <td>
                <CompareWho label={labels.get(id)} />
                {narrow && score}
              </td>
              {!narrow && <td className={styles.wide}>{score}</td>}
              {pairs.length > 0 && (
                <PairCells pair={pair} baseline={index === 0} narrow={narrow} direction={benchmark.higher_is_better} />
              )}
            </tr>
          )
        })}
      </tbody>
    </PlainTable>
  )
}

function PairHeads({ letter, several, narrow }: { letter: string; several: boolean; narrow: boolean }) {
  return (
    <>
      <th scope="col" data-numeric data-tip="Score minus the score of the baseline">
        Δ to {letter}
      </th>
      {!narrow && (
        <>
          <th scope="col" data-numeric data-tip={several ? 'Holm-adjusted for multiple comparisons' : undefined}>
            {several ? 'p adjusted' : 'p'}
          </th>
          <th scope="col" data-numeric>
            Tasks
          </th>
          <th scope="col">Result</th>
        </>
      )}
    </>
  )
}

interface PairCellsProps {
  pair: Pair | undefined
  baseline: boolean
  narrow: boolean
  direction: Direction
}

function PairCells({ pair, baseline, narrow, direction }: PairCellsProps) {
  if (pair === undefined) {
    return (
      <>
        {!narrow && <td className="muted" colSpan={3} />}
        <td className="muted" data-numeric={narrow || undefined}>
          {baseline ? 'baseline' : 'not compared'}
        </td>
      </>
    )
  }
  const delta = `${exact(pair.delta)}\n${pair.level * 100}% interval, ${pair.method}`
  const p = `${testWords(pair.test)}: p = ${pair.p_value}, adjusted ${pair.p_adjusted}`
  const tasks = pair.paired ? count(pair.n_a) : `${count(pair.n_a)} / ${count(pair.n_b)}`
  if (narrow) {
    return (
      <td>
        <span className={styles.delta}>
          <strong data-tip={delta}>{signed(pair.delta)}</strong>
          <span className="muted">{interval(pair.low, pair.high, pair.weak)}</span>
          <span data-tip={p}>p {pValue(pair.p_adjusted)}</span>
          <span>{tasks} tasks</span>
          <Finding pair={pair} direction={direction} />
        </span>
      </td>
    )
  }
  return (
    <>
      <td data-numeric data-tip={delta}>
        {signed(pair.delta)} <span className="muted">{interval(pair.low, pair.high, pair.weak)}</span>
      </td>
      <td data-numeric data-tip={p}>
        {pValue(pair.p_adjusted)}
      </td>
      <td data-numeric>{tasks}</td>
      <td>
        <Finding pair={pair} direction={direction} />
      </td>
    </>
  )
}

function Finding({ pair, direction }: { pair: Pair; direction: Direction }) {
  if (pair.winner === 'tie') return <Badge title="The difference is not significant">tie</Badge>
  if (direction === null) {
    const { ahead, behind } = leadWords(direction)
    return (
      <Badge title="Whether higher is better is not declared for this metric">
        {pair.winner === 'b' ? ahead : behind}
      </Badge>
    )
  }
  if (pair.winner === 'b') {
    return (
      <Badge tone="good" icon="arrowUp">
        better
      </Badge>
    )
  }
  return (
    <Badge tone="bad" icon="arrowDown">
      worse
    </Badge>
  )
}
