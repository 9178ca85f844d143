/** Benchmark by benchmark: both scores, the difference with its interval, and who won. */

import { Link } from '@tanstack/react-router'
import { count, exact, interval, measure, pValue, signed } from '../../format'
import { Badge } from '../../parts/Badge'
import { PlainTable } from '../../parts/PlainTable'
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
          <th scope="col" data-numeric>
            A
          </th>
          <th scope="col" data-numeric>
            B
          </th>
          <th scope="col" data-numeric title="B − A">
            Δ
          </th>
          {!narrow && (
            <>
              <th scope="col">Winner</th>
              <th scope="col" data-numeric>
                p
              </th>
              <th scope="col" data-numeric title="Tasks that both have scored; else those of each">
                n
              </th>
              <th scope="col">
                <span className="hidden-text">Task by task</span>
              </th>
            </>
          )}
        </tr>
      </thead>
      <tbody>
        {contest.rows.map((row) => (
          <Row key={row.benchmark} row={row} narrow={narrow} />
        ))}
      </tbody>
    </PlainTable>
  )
}

function Row({ row, narrow }: { row: ContestRow; narrow: boolean }) {
  const { benchmark, delta, low, high, p_value: p } = row
  return (
    <tr>
      <th scope="row">
        <Link to="/benchmarks/$benchmarkId" params={{ benchmarkId: benchmark }}>
          <bdi>{benchmark}</bdi>
        </Link>
        {narrow && (
          <span className={styles.under}>
            <Winner row={row} />
            {p !== null && <span>p {pValue(p)}</span>}
            {p !== null && <span>n = {tasks(row)}</span>}
            <Tasks row={row} />
          </span>
        )}
      </th>
      <Result row={row} side="a" />
      <Result row={row} side="b" />
      <td data-numeric title={exact(delta)}>
        {signed(delta)} <span className={narrow ? styles.second : 'muted'}>{interval(low, high)}</span>
      </td>
      {!narrow && (
        <>
          <td>
            <Winner row={row} />
          </td>
          <td data-numeric title={exact(p)}>
            {pValue(p)}
          </td>
          <td data-numeric>{tasks(row)}</td>
          <td>
            <Tasks row={row} />
          </td>
        </>
      )}
    </tr>
  )
}

function Result({ row, side }: { row: ContestRow; side: 'a' | 'b' }) {
  const { run_id: id, score, status } = row[side]
  const value = score?.value ?? null
  if (id === null || value === null) {
    return (
      <td data-numeric className="muted">
        {status ?? '–'}
      </td>
    )
  }
  return (
    <td data-numeric title={exact(value)}>
      <Link to="/runs/$runId" params={{ runId: id }}>
        {measure(value)}
      </Link>
    </td>
  )
}

function Winner({ row: { winner } }: { row: ContestRow }) {
  if (winner === null) return <span className="muted">–</span>
  if (winner === 'tie') return <Badge title="The difference could be chance">tie</Badge>
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
