/** Benchmark by benchmark: both scores, the difference with its interval, and who won. */

import { Link } from '@tanstack/react-router'
import { count, exact, interval, pValue, signed } from '../../format'
import { Badge } from '../../parts/Badge'
import { PlainTable } from '../../parts/PlainTable'
import { Score } from '../../parts/Score'
import { useNarrow } from '../../parts/useNarrow'
import styles from './ContestView.module.css'
import { type Contest, type ContestRow, pairOf } from './contest'

export function ContestTable({ contest }: { contest: Contest }) {
  const narrow = useNarrow()
  return (
    <PlainTable label="Table of benchmarks" className={styles.table}>
      <thead>
        <tr>
          <th scope="col">Benchmark</th>
          {!narrow && <Heads />}
        </tr>
      </thead>
      <tbody>
        {contest.rows.map((row) => (
          <tr key={row.benchmark}>
            <th scope="row">
              <Link to="/benchmarks/$benchmarkId" params={{ benchmarkId: row.benchmark }}>
                <bdi>{row.benchmark}</bdi>
              </Link>
              {narrow && <Under row={row} />}
            </th>
            {!narrow && <Cells row={row} />}
          </tr>
        ))}
      </tbody>
    </PlainTable>
  )
}

/** What is said of a side that has all its values. */
const WHOLE = new Set(['succeeded', 'skipped'])

function Heads() {
  return (
    <>
      <th scope="col" data-numeric>
        A
      </th>
      <th scope="col" data-numeric>
        B
      </th>
      <th scope="col" data-numeric data-tip="B − A, on the tasks scored by both where they share tasks">
        Δ
      </th>
      <th scope="col">Winner</th>
      <th scope="col" data-numeric>
        p
      </th>
      <th scope="col" data-numeric data-tip="Tasks scored by both; otherwise the tasks of each">
        n
      </th>
      <th scope="col">
        <span className="hidden-text">Task by task</span>
      </th>
    </>
  )
}

function Cells({ row }: { row: ContestRow }) {
  const { delta, low, high, p_value: p } = row
  return (
    <>
      <td data-numeric>
        <Result row={row} side="a" />
      </td>
      <td data-numeric>
        <Result row={row} side="b" />
      </td>
      <td data-numeric data-tip={exact(delta)}>
        {signed(delta)} <span className="muted">{interval(low, high)}</span>
      </td>
      <td>
        <Winner row={row} />
      </td>
      <td data-numeric data-tip={exact(p)}>
        {pValue(p)}
      </td>
      <td data-numeric>{tasks(row)}</td>
      <td>
        <Tasks row={row} />
      </td>
    </>
  )
}

/** On a phone: all of it below the name. */
function Under({ row }: { row: ContestRow }) {
  const { delta, low, high, p_value: p } = row
  return (
    <span className={styles.under}>
      <span>
        A <Result row={row} side="a" />
      </span>
      <span>
        B <Result row={row} side="b" />
      </span>
      {p !== null && (
        <>
          <span data-tip={exact(delta)}>
            Δ {signed(delta)} {interval(low, high)}
          </span>
          <Winner row={row} />
          <span>p {pValue(p)}</span>
          <span>n = {tasks(row)}</span>
          <Tasks row={row} />
        </>
      )}
    </span>
  )
}

function Result({ row, side }: { row: ContestRow; side: 'a' | 'b' }) {
  const { run_id: id, score, status } = row[side]
  if (id === null || score === null || score.value === null) {
    return <span className="muted">{status ?? '–'}</span>
  }
  return (
    <span className={styles.result}>
      <Link to="/runs/$runId" params={{ runId: id }}>
        <Score metric={score} show="value" />
      </Link>
      <span className="muted">
        n={count(score.n_scored)}/{count(score.n_planned)}
      </span>
      {status !== null && !WHOLE.has(status) && (
        <Badge tone="warn" icon="warning" title="Some values are missing, so it is not ranked">
          {status}
        </Badge>
      )}
    </span>
  )
}

function Winner({ row: { winner } }: { row: ContestRow }) {
  if (winner === null) return <span className="muted">–</span>
  if (winner === 'tie') return <Badge title="The difference is not significant">tie</Badge>
  return (
    <Badge tone="good" icon="star">
      {winner.toUpperCase()}
    </Badge>
  )
}

function Tasks({ row }: { row: ContestRow }) {
  const run = pairOf(row)
  if (run === null) return null
  return (
    <Link to="/compare" search={{ run }} aria-label={`${row.benchmark} task by task`}>
      task by task
    </Link>
  )
}

function tasks({ n_a, n_b, paired }: ContestRow): string {
  return paired || n_a === null ? count(n_a) : `${count(n_a)} | ${count(n_b)}`
}
