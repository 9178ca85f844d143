/** The leaderboard: places, scores with intervals on one scale, floor and ceiling as lines. Chosen runs can be compared. */

import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { Schema } from '../api/paths'
import { MOST_RUNS } from '../compare/CompareSearch'
import { Button } from '../parts/Button'
import { Empty } from '../parts/Empty'
import { Panel } from '../parts/Panel'
import { useCompare } from '../runs/useCompare'
import { EntryRow } from './EntryRow'
import styles from './Leaderboard.module.css'
import { References } from './References'
import { ScaleHead } from './ScaleHead'
import { leaderboardValues, type Scale, scaleOf } from './scale'

export function Leaderboard({ benchmark }: { benchmark: Schema<'BenchmarkDetail'> }) {
  const { leaderboard, floor, ceiling, metric, higher_is_better: up } = benchmark
  const [chosen, setChosen] = useState<readonly string[]>([])
  const compare = useCompare()
  const toggle = (id: string) =>
    setChosen((before) => (before.includes(id) ? before.filter((one) => one !== id) : [...before, id]))
  if (leaderboard.length === 0) {
    return (
      <Panel title="Leaderboard">
        <Empty title="No finished run yet">A model appears here with its first finished run.</Empty>
      </Panel>
    )
  }
  const scale = scaleOf(leaderboardValues(leaderboard, floor, ceiling))
  return (
    <Panel
      title="Leaderboard"
      note={`${metric ?? 'score'}, ${up ? 'more is better' : 'less is better'}; the latest finished run of each model`}
      flush
      actions={
        <Button
          icon="compare"
          look="primary"
          disabled={chosen.length < 2 || chosen.length > MOST_RUNS}
          onClick={() => compare(chosen)}
        >
          {chosen.length < 2 ? 'Choose two to compare' : `Compare ${chosen.length}`}
        </Button>
      }
    >
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable */}
      <section className={styles.scroll} aria-label="Table of models" tabIndex={0}>
        <table className={styles.table}>
          <Head scale={scale} metric={metric ?? 'score'} />
          <tbody>
            {leaderboard.map((entry) => (
              <EntryRow
                key={entry.run_id}
                entry={entry}
                scale={scale}
                floor={floor}
                ceiling={ceiling}
                chosen={chosen.includes(entry.run_id)}
                onToggle={() => toggle(entry.run_id)}
              />
            ))}
          </tbody>
        </table>
      </section>
      <References floor={floor} ceiling={ceiling} />
      <p className={styles.all}>
        <Link to="/" search={{ benchmark: [benchmark.id] }}>
          All runs of this benchmark
        </Link>
      </p>
    </Panel>
  )
}

function Head({ scale, metric }: { scale: Scale; metric: string }) {
  return (
    <thead>
      <tr>
        <th scope="col">
          <span className="hidden-text">Chosen</span>
        </th>
        <th scope="col" title="Runs whose difference could be chance share places">
          Place
        </th>
        <th scope="col">Model</th>
        <th scope="col" className={styles.number}>
          {metric}
        </th>
        <th scope="col" className={styles.plot}>
          <ScaleHead scale={scale} metric={metric} />
        </th>
        <th scope="col" className={styles.number}>
          n
        </th>
        <th scope="col" className={styles.number} title="Finished runs of this model with this agent">
          Runs
        </th>
        <th scope="col" className={styles.number}>
          Tokens
        </th>
        <th scope="col" className={styles.number}>
          Cost
        </th>
        <th scope="col">When</th>
      </tr>
    </thead>
  )
}
