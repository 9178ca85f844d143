/** The leaderboard: places, scores with intervals on one scale, floor and ceiling as lines. Chosen runs can be compared. */

import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { Schema } from '../api/types'
import { MOST_RUNS } from '../compare/CompareSearch'
import { Button } from '../parts/Button'
import { Empty } from '../parts/Empty'
import { Panel } from '../parts/Panel'
import { PlainTable } from '../parts/PlainTable'
import { useNarrow } from '../parts/useNarrow'
import { useCompare } from '../runs/useCompare'
import { unrankedWords } from './contents'
import { EntryRow } from './EntryRow'
import styles from './Leaderboard.module.css'
import { References } from './References'
import { ScaleHead } from './ScaleHead'
import { leaderboardValues, type Scale, scaleOf } from './scale'

export function Leaderboard({ benchmark }: { benchmark: Schema<'BenchmarkDetail'> }) {
  const { leaderboard, floor, ceiling, metric, higher_is_better: up } = benchmark
  const [chosen, setChosen] = useState<readonly string[]>([])
  const compare = useCompare()
  const narrow = useNarrow()
  const unranked = unrankedWords(benchmark)
  const toggle = (id: string) =>
    setChosen((before) => (before.includes(id) ? before.filter((one) => one !== id) : [...before, id]))
  if (leaderboard.length === 0) return <NobodyYet unranked={unranked} />
  const scale = scaleOf(leaderboardValues(leaderboard, floor, ceiling))
  return (
    <Panel
      title="Leaderboard"
      note={`${metric ?? 'score'}, ${up ? 'higher is better' : 'lower is better'}; ${whichRun(benchmark)}`}
      flush
      actions={
        <Button
          icon="compare"
          look="primary"
          disabled={chosen.length < 2 || chosen.length > MOST_RUNS}
          onClick={() => compare(chosen)}
        >
          {chosen.length < 2 ? 'Select two to compare' : `Compare ${chosen.length}`}
        </Button>
      }
    >
      <PlainTable label="Table of models" className={styles.table}>
        <Head scale={scale} metric={metric ?? 'score'} narrow={narrow} />
        <tbody>
          {leaderboard.map((entry) => (
            <EntryRow
              key={entry.run_id}
              entry={entry}
              scale={scale}
              floor={floor}
              ceiling={ceiling}
              narrow={narrow}
              chosen={chosen.includes(entry.run_id)}
              onToggle={() => toggle(entry.run_id)}
            />
          ))}
        </tbody>
      </PlainTable>
      <References floor={floor} ceiling={ceiling} />
      <p className={styles.all}>
        {unranked !== '' && <span className="muted">{unranked}: scores on different content are not comparable. </span>}
        {leaderboard.some((entry) => entry.uncompared > 0) && (
          <span className="muted">Runs scored by different rules are not comparable and share ranks. </span>
        )}
        <Link to="/" search={{ benchmark: [benchmark.id], builtin: 'shown' }}>
          All runs of this benchmark
        </Link>
      </p>
    </Panel>
  )
}

function NobodyYet({ unranked }: { unranked: string }) {
  return (
    <Panel title="Leaderboard">
      <Empty title="No finished runs yet">
        Models appear here after their first finished run{unranked !== '' && ' on the newest content'}.{' '}
        {unranked !== '' && `${unranked}.`}
      </Empty>
    </Panel>
  )
}

/** Which of several runs of a model stands for it. */
function whichRun({ coverage }: Schema<'BenchmarkDetail'>): string {
  if (coverage.state === 'endless') return 'the latest finished run per model'
  return 'per model, the latest finished run with the most tasks'
}

function Head({ scale, metric, narrow }: { scale: Scale; metric: string; narrow: boolean }) {
  return (
    <thead>
      <tr>
        <th scope="col" className={styles.choose}>
          <span className="hidden-text">Selected</span>
        </th>
        <th scope="col" className={styles.rank} data-tip="Runs whose difference is not significant share ranks">
          Rank
        </th>
        <th scope="col" className={styles.model}>
          Model
          {narrow && <ScaleHead scale={scale} metric={metric} />}
        </th>
        {!narrow && <NumberHeads scale={scale} metric={metric} />}
      </tr>
    </thead>
  )
}

function NumberHeads({ scale, metric }: { scale: Scale; metric: string }) {
  return (
    <>
      <th scope="col" data-numeric>
        {metric}
      </th>
      <th scope="col" className={styles.plot}>
        <ScaleHead scale={scale} metric={metric} />
      </th>
      <th scope="col" data-numeric>
        n
      </th>
      <th scope="col" data-numeric data-tip="Finished runs of this model with this agent">
        Runs
      </th>
      <th scope="col" data-numeric>
        Tokens
      </th>
      <th scope="col" data-numeric>
        Cost
      </th>
      <th scope="col">Date</th>
    </>
  )
}
