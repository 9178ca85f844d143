import { count, exact, interval, pValue, signed } from '../format'
import { Badge } from '../parts/Badge'
import { Score } from '../parts/Score'
import styles from './CompareBenchmark.module.css'
import type { Label } from './CompareLabels'
import { type BenchmarkComparison, type Pair, testWords } from './CompareVerdict'
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
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable
    <section className={styles.scroll} aria-label={label} tabIndex={0}>
      <table className={styles.table}>
        <thead>
          <tr>
            <th scope="col">Run</th>
            <th scope="col">{benchmark.metric}</th>
            {pairs.length > 0 && (
              <PairHeads letter={labels.get(runs[0] ?? '')?.letter ?? 'baseline'} several={several} />
            )}
          </tr>
        </thead>
        <tbody>
          {runs.map((id, index) => {
            const pair = pairs.find((one) => one.b === id)
            return (
              <tr key={id}>
                <td>
                  <CompareWho label={labels.get(id)} />
                </td>
                <td className={styles.wide}>
                  <Score metric={scores[index]} />
                </td>
                {pairs.length > 0 && <PairCells pair={pair} baseline={index === 0} />}
              </tr>
            )
          })}
        </tbody>
      </table>
    </section>
  )
}

function PairHeads({ letter, several }: { letter: string; several: boolean }) {
  return (
    <>
      <th scope="col" data-numeric title="Score minus the score of the baseline">
        Δ to {letter}
      </th>
      <th scope="col" data-numeric title={several ? 'Holm-adjusted, because there are several comparisons' : undefined}>
        {several ? 'p adjusted' : 'p'}
      </th>
      <th scope="col" data-numeric>
        Tasks
      </th>
      <th scope="col">Finding</th>
    </>
  )
}

function PairCells({ pair, baseline }: { pair: Pair | undefined; baseline: boolean }) {
  if (pair === undefined) {
    return (
      <>
        <td data-numeric className="muted" colSpan={3} />
        <td className="muted">{baseline ? 'baseline' : 'not compared'}</td>
      </>
    )
  }
  return (
    <>
      <td data-numeric title={`${exact(pair.delta)}\n${pair.level * 100} % interval, ${pair.method}`}>
        {signed(pair.delta)} <span className="muted">{interval(pair.low, pair.high)}</span>
      </td>
      <td data-numeric title={`${testWords(pair.test)}: p = ${pair.p_value}, adjusted ${pair.p_adjusted}`}>
        {pValue(pair.p_adjusted)}
      </td>
      <td data-numeric>{pair.paired ? count(pair.n_a) : `${count(pair.n_a)} / ${count(pair.n_b)}`}</td>
      <td>
        <Finding pair={pair} />
      </td>
    </>
  )
}

function Finding({ pair }: { pair: Pair }) {
  if (pair.winner === 'tie') return <Badge title="The difference could be chance">tie</Badge>
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
