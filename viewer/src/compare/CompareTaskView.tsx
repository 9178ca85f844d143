import { Strip } from '../charts/Strip'
import { Select } from '../parts/Select'
import type { Label } from './CompareLabels'
import { CompareMap } from './CompareMap'
import type { CompareSearch } from './CompareSearch'
import { CompareTaskList } from './CompareTaskList'
import { onlyWords, stripOf } from './CompareTasks'
import styles from './CompareTaskView.module.css'
import { type BenchmarkComparison, leadWords, type Pair } from './CompareVerdict'

/** Two runs, task by task. */
interface CompareTaskViewProps {
  benchmark: BenchmarkComparison
  pair: Pair
  labels: ReadonlyMap<string, Label>
  search: CompareSearch
  onChange: (search: CompareSearch) => void
}

/** In how many tasks each of two runs did better, where the tasks lie, and which ones they are. */
export function CompareTaskView({ benchmark, pair, labels, search, onChange }: CompareTaskViewProps) {
  const [a, b] = [labels.get(pair.a), labels.get(pair.b)]
  if (a === undefined || b === undefined) return null
  const direction = benchmark.higher_is_better
  const { ahead } = leadWords(direction)
  const looks = {
    a: { label: `${a.letter} ${ahead}`, colour: a.colour },
    same: { label: 'same', colour: 'color-mix(in srgb, var(--line-strong) 45%, var(--surface))' },
    b: { label: `${b.letter} ${ahead}`, colour: b.colour },
  }
  const only = onlyWords(pair, a.letter, b.letter)
  return (
    <section className={styles.view} aria-label={`Task by task, ${benchmark.benchmark_title || benchmark.benchmark}`}>
      <header className={styles.head}>
        <h3>
          Task by task: {a.letter} against {b.letter}
        </h3>
        {benchmark.pairs.length > 1 && (
          <Select
            label="Against"
            options={benchmark.pairs.map((one) => ({ value: one.b, label: nameOf(labels.get(one.b)) }))}
            value={pair.b}
            onChange={(against) => onChange({ ...search, against })}
          />
        )}
      </header>
      <Strip title="Tasks" parts={stripOf(pair).map(({ side, count }) => ({ ...looks[side], count }))} />
      {only !== '' && <p className="muted">{only}</p>}
      <div className={styles.columns}>
        <CompareMap pair={pair} a={a} b={b} direction={direction} />
        <CompareTaskList
          pair={pair}
          a={a}
          b={b}
          direction={direction}
          shown={search.tasks ?? (pair.counts.flipped > 0 ? 'flipped' : 'all')}
          onShow={(tasks) => onChange({ ...search, tasks })}
        />
      </div>
    </section>
  )
}

function nameOf(label: Label | undefined): string {
  return label ? `${label.letter} ${label.name}` : ''
}
