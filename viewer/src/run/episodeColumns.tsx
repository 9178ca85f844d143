/** The columns of the episode table. */

import { memo, type ReactNode } from 'react'
import { count, MISSING, plural } from '../format'
import type { Column } from '../parts/column'
import { Duration } from '../parts/Duration'
import { Money } from '../parts/Money'
import { Num } from '../parts/Num'
import { Status } from '../parts/Status'
import { Tokens } from '../parts/Tokens'
import { EpisodeLink } from './EpisodeLink'
import { EpisodeScore } from './EpisodeScore'
import styles from './EpisodeTable.module.css'
import { FailureCell } from './FailureCell'
import { type Episode, type Row, sameRow } from './plan'
import type { EpisodeFilter } from './search'

/** What the columns show depends on the name of the primary score and on the filter that links carry on. */
export interface EpisodeColumnsProps {
  score: string
  filter: EpisodeFilter
  /** Whether tasks are played more than once. */
  trials: boolean
}

/** Columns for a wide window. */
export function episodeColumns(props: EpisodeColumnsProps): Column<Row>[] {
  const columns = [...identity(props), ...outcome(props), ...amounts()]
  return props.trials ? columns : columns.filter(({ key }) => key !== 'trial')
}

function identity({ filter }: EpisodeColumnsProps): Column<Row>[] {
  return [
    {
      key: 'index',
      header: '#',
      title: 'Position in the plan',
      width: 72,
      align: 'end',
      sort: 'index',
      render: drawn((row) => <Index row={row} />),
    },
    { key: 'task', header: 'Task', width: 146, grow: 1, render: drawn((row) => <Task row={row} filter={filter} />) },
    {
      key: 'trial',
      header: 'Trial',
      title: 'Repetition of the task, starting at 0',
      width: 56,
      align: 'end',
      priority: 5,
      render: played(({ trial }) => trial),
    },
    {
      key: 'seed',
      header: 'Seed',
      width: 104,
      align: 'end',
      priority: 8,
      render: played(({ seed }) => <span title={seed ?? undefined}>{seed ?? MISSING}</span>),
    },
  ]
}

function outcome({ score }: EpisodeColumnsProps): Column<Row>[] {
  return [
    {
      key: 'state',
      header: 'State',
      width: 120,
      render: drawn((row) => <Status of="episode" state={row.kind === 'episode' ? row.episode.state : 'pending'} />),
    },
    {
      key: 'score',
      header: 'Score',
      width: 76,
      align: 'end',
      sort: 'score',
      render: played((episode) => <EpisodeScore episode={episode} name={score} />),
    },
    {
      key: 'reward',
      header: 'Reward',
      title: 'Sum over all steps',
      width: 80,
      align: 'end',
      sort: 'reward',
      priority: 6,
      render: played(({ total_reward }) => <Num value={total_reward} />),
    },
  ]
}

export function amounts(): Column<Row>[] {
  return [
    {
      key: 'steps',
      header: 'Steps',
      width: 68,
      align: 'end',
      sort: 'steps',
      priority: 3,
      render: played(({ steps }) => count(steps)),
    },
    {
      key: 'tokens',
      header: 'Tokens',
      width: 78,
      align: 'end',
      sort: 'tokens',
      priority: 4,
      render: played(({ usage }) => <Tokens value={usage.total} />),
    },
    {
      key: 'cost',
      header: 'Cost',
      width: 78,
      align: 'end',
      sort: 'cost',
      priority: 7,
      render: played(({ usage }) => <Money usd={usage.cost_usd} />),
    },
    {
      key: 'duration',
      header: 'Duration',
      width: 88,
      align: 'end',
      sort: 'duration',
      priority: 3,
      render: played(({ duration_s }) => <Duration seconds={duration_s} />),
    },
    {
      key: 'retries',
      header: 'Retries',
      title: 'Retried calls',
      width: 70,
      align: 'end',
      priority: 7,
      render: played(({ retries }) => (retries > 0 ? count(retries) : '')),
    },
    {
      key: 'failure',
      header: 'Failure',
      width: 180,
      grow: 2.4,
      priority: 2,
      render: played(({ failure }) => <FailureCell failure={failure} />),
    },
  ]
}

/** Columns for a phone: two lines a row. */
export function narrowEpisodeColumns({ score, filter }: EpisodeColumnsProps): Column<Row>[] {
  return [
    {
      key: 'task',
      header: 'Task',
      sort: 'index',
      width: 120,
      grow: 1,
      render: (row) => (
        <span className={styles.lines}>
          <span className={styles.line}>
            <Task row={row} filter={filter} />
          </span>
          <span className={styles.second}>{row.kind === 'episode' && <Second episode={row.episode} />}</span>
        </span>
      ),
    },
    {
      key: 'state',
      header: 'State',
      width: 118,
      render: drawn((row) => <Status of="episode" state={row.kind === 'episode' ? row.episode.state : 'pending'} />),
    },
    {
      key: 'score',
      header: 'Score',
      width: 76,
      align: 'end',
      sort: 'score',
      render: played((episode) => <EpisodeScore episode={episode} name={score} />),
    },
  ]
}

export function played(draw: (episode: Episode) => ReactNode): Column<Row>['render'] {
  return drawn((row) => (row.kind === 'episode' ? draw(row.episode) : null))
}

export function drawn(draw: (row: Row) => ReactNode): Column<Row>['render'] {
  return (row) => <Cell row={row} draw={draw} />
}

interface CellProps {
  row: Row
  draw: (row: Row) => ReactNode
}

/** Cells are drawn again only when they show something else: a table that scrolls draws its rows many times. */
const Cell = memo(
  function Cell({ row, draw }: CellProps) {
    return draw(row)
  },
  (before, after) => before.draw === after.draw && sameRow(before.row, after.row),
)

function Index({ row }: { row: Row }) {
  return <span className="muted">{count(row.index)}</span>
}

function Task({ row, filter }: { row: Row; filter: EpisodeFilter }) {
  if (row.kind === 'owed') return <span className="muted">not played yet</span>
  const { id, task_id: task } = row.episode
  return (
    <EpisodeLink id={id} filter={filter} title={task.slice(0, 1_000)}>
      {task.slice(0, 200) || `#${row.index}`}
    </EpisodeLink>
  )
}

function Second({ episode }: { episode: Episode }) {
  if (episode.failure !== null) return <FailureCell failure={episode.failure} />
  return (
    <>
      {plural(episode.steps, 'step')} · <Duration seconds={episode.duration_s} />
    </>
  )
}
