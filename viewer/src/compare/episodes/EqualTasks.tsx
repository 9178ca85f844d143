/** All tasks that both runs have: how many each passed, and whether the difference could be chance. */

import { Link } from '@tanstack/react-router'
import type { Schema } from '../../api/types'
import { count, exact, interval, signed } from '../../format'
import { Panel } from '../../parts/Panel'
import { colourOf } from '../CompareLabels'
import { CompareQuads } from '../CompareQuads'
import { isBinary } from '../CompareTasks'
import { type BenchmarkComparison, type Pair, pWords, testWords } from '../CompareVerdict'

interface EqualTasksProps {
  benchmark: BenchmarkComparison
  pair: Pair
  a: Schema<'EpisodeDetail'>
  b: Schema<'EpisodeDetail'>
  names: [string, string]
}

export function EqualTasks({ benchmark, pair, a, b, names }: EqualTasksProps) {
  const labels = names.map((name, index) => ({ letter: index === 0 ? 'A' : 'B', name, colour: colourOf(index) }))
  const [one, other] = labels
  if (one === undefined || other === undefined) return null
  return (
    <Panel
      title={pair.paired ? `All ${count(pair.n_a)} equal tasks` : 'Both runs'}
      note={benchmark.metric}
      actions={
        <Link to="/compare" search={{ run: [a.run_id, b.run_id] }}>
          Compare the runs
        </Link>
      }
    >
      {isBinary(pair) && <CompareQuads pair={pair} a={one} b={other} />}
      <p className="muted" data-tip={`${exact(pair.delta)}, ${pair.level * 100}% interval, ${pair.method}`}>
        B − A = {signed(pair.delta)} {interval(pair.low, pair.high, pair.weak)}, {pair.paired ? 'paired' : 'unpaired'}.{' '}
        {testWords(pair.test).replace(/^mcnemar/, 'McNemar')} {pWords(pair.p_value)}.
      </p>
    </Panel>
  )
}
