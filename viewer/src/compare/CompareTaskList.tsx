import { Link, useNavigate } from '@tanstack/react-router'
import { useMemo } from 'react'
import { count, plural, signed } from '../format'
import type { Column } from '../parts/column'
import { Icon } from '../parts/Icon'
import { Num } from '../parts/Num'
import { Tabs } from '../parts/Tabs'
import { VirtualTable } from '../parts/VirtualTable'
import type { Label } from './CompareLabels'
import type { Shown } from './CompareSearch'
import { shownCounts, shownTasks } from './CompareTasks'
import styles from './CompareTaskView.module.css'
import { type Direction, leadWords, type Pair, type TaskPair } from './CompareVerdict'

/** The tasks of two runs. */
interface CompareTaskListProps {
  pair: Pair
  a: Label
  b: Label
  direction: Direction
  shown: Shown
  onShow: (shown: Shown) => void
}

/** Which tasks changed sides, and the episodes in which to see why. */
export function CompareTaskList({ pair, a, b, direction, shown, onShow }: CompareTaskListProps) {
  const tasks = useMemo(() => shownTasks(pair.tasks, shown, direction), [pair.tasks, shown, direction])
  const columns = useMemo(() => taskColumns(a, b), [a, b])
  const navigate = useNavigate()
  const counts = shownCounts(pair)
  const { ahead } = leadWords(direction)
  const open = ({ episode_a, episode_b }: TaskPair) => {
    if (episode_a === null || episode_b === null) return
    void navigate({ to: '/compare/episodes', search: { a: episode_a, b: episode_b } })
  }
  return (
    <Tabs
      label="Tasks"
      selected={shown}
      onSelect={onShow}
      tabs={[
        { id: 'flipped', label: 'Flipped', count: counts.flipped },
        { id: 'a', label: `${a.letter} ${ahead}`, count: counts.a },
        { id: 'b', label: `${b.letter} ${ahead}`, count: counts.b },
        { id: 'all', label: 'All', count: counts.all },
      ]}
    >
      <VirtualTable
        key={shown}
        label="Tasks of both runs"
        columns={columns}
        count={tasks.length}
        getRow={(index) => tasks[index]}
        rowKey={(task) => task.task_digest}
        maxHeight="26rem"
        onOpen={open}
        empty={<p className="muted">{shown === 'flipped' ? 'No tasks flipped.' : 'No tasks.'}</p>}
      />
      {tasks.length < counts[shown] && (
        <p className="muted">
          {plural(tasks.length, 'task')} of {count(counts[shown])}, largest differences first.
        </p>
      )}
    </Tabs>
  )
}

function taskColumns(a: Label, b: Label): Column<TaskPair>[] {
  return [
    {
      key: 'task',
      header: 'Task',
      width: 88,
      grow: 1,
      render: ({ task_id }) => <bdi data-full={task_id.slice(0, 1_000)}>{task_id.slice(0, 200)}</bdi>,
    },
    { key: 'a', header: a.letter, title: a.name, width: 58, align: 'end', render: (task) => <Num value={task.a} /> },
    { key: 'b', header: b.letter, title: b.name, width: 58, align: 'end', render: (task) => <Num value={task.b} /> },
    {
      key: 'delta',
      header: 'Δ',
      width: 76,
      align: 'end',
      priority: 2,
      render: (task) => <Num value={deltaOf(task)} form={signed} />,
    },
    {
      key: 'episodes',
      header: 'Episodes',
      title: 'The episode of each run, and both side by side',
      width: 116,
      render: (task) => <Episodes task={task} a={a} b={b} />,
    },
  ]
}

function deltaOf({ a, b }: TaskPair): number | null {
  return a === null || b === null ? null : b - a
}

function Episodes({ task, a, b }: { task: TaskPair; a: Label; b: Label }) {
  const ends = [
    { label: a, id: task.episode_a },
    { label: b, id: task.episode_b },
  ]
  return (
    <span className={styles.pair}>
      {ends.map(
        ({ label, id }) =>
          id !== null && (
            <Link
              key={label.letter}
              to="/episodes/$episodeId"
              params={{ episodeId: id }}
              aria-label={`Episode of ${label.letter}`}
              data-tip={`Episode of ${label.name}`}
            >
              {label.letter}
            </Link>
          ),
      )}
      {task.episode_a !== null && task.episode_b !== null && (
        <Link to="/compare/episodes" search={{ a: task.episode_a, b: task.episode_b }} data-tip="Both side by side">
          <Icon name="compare" label="Both side by side" />
        </Link>
      )}
    </span>
  )
}
