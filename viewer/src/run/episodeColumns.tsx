/** The columns of the episode table. */

import { memo, type ReactNode } from 'react'
import { causeWords } from '../cause'
import { isScan } from '../episode/ScanAnswers'
import { count, MISSING, plural } from '../format'
import type { Column } from '../parts/column'
import { Duration } from '../parts/Duration'
import { Money } from '../parts/Money'
import { Num } from '../parts/Num'
import { Status } from '../parts/Status'
import { Tokens } from '../parts/Tokens'
import { Verdict } from '../parts/Verdict'
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
  /** Whether they are samples of a rollout: tasks are rows, and the score is a reward. */
  samples: boolean
  /** What the tasks of this run have: words that ask, a right answer, an answer, scores that are no verdict. */
  has: TaskFacts
}

/** Which columns have something to show. */
export interface TaskFacts {
  question: boolean
  expected: boolean
  given: boolean
  number: boolean
  seed: boolean
  /** A reward that is not the score itself. */
  reward: boolean
  labels: boolean
  steps: boolean
  tokens: boolean
  duration: boolean
  cost: boolean
  retries: boolean
}

/** What some episodes have, so that a column without content leaves its room to others. */
export function taskFacts(episodes: readonly Episode[]): TaskFacts {
  return {
    question: episodes.some(({ question }) => question !== ''),
    expected: episodes.some(({ expected }) => expected !== ''),
    given: episodes.some(({ given }) => given !== ''),
    number: episodes.some(({ score }) => score !== null && score !== 0 && score !== 1),
    seed: episodes.some(({ seed }) => seed !== null),
    reward: episodes.some(({ total_reward: reward, score }) => reward !== null && reward !== score),
    labels: episodes.some(({ labels }) => Object.keys(labels).length > 0),
    steps: episodes.some(({ steps }) => steps > 0),
    tokens: episodes.some(({ usage }) => usage.total > 0),
    duration: episodes.some(({ duration_s }) => (duration_s ?? 0) > 0),
    cost: episodes.some(({ usage }) => usage.cost_usd !== 0),
    retries: episodes.some(({ retries }) => retries > 0),
  }
}

/** Columns for a wide window. */
export function episodeColumns(props: EpisodeColumnsProps): Column<Row>[] {
  const { has, trials, samples } = props
  const columns = [...identity(props), ...answers(props), ...outcome(props), why, ...amounts(), labels]
  const hidden = new Set([
    ...(trials ? [] : ['trial']),
    ...(has.question ? ['task', 'seed', 'reward', 'steps'] : ['question']),
    ...(samples ? ['seed', 'reward', 'steps'] : []),
    ...(has.labels && (samples || !has.question) ? [] : ['labels']),
    ...(has.cost && has.tokens ? [] : ['cost']),
    // What was imported without its steps has no rewards of steps either.
    ...(has.steps ? [] : ['reward', 'steps']),
    ...(has.tokens ? [] : ['tokens']),
    ...(has.duration ? [] : ['duration']),
    ...(has.retries ? [] : ['retries']),
    ...(has.expected ? [] : ['expected']),
    ...(has.given ? [] : ['given']),
    ...(has.number ? [] : ['score']),
    ...(has.number && !has.reward ? ['reward'] : []),
    ...(has.seed ? [] : ['seed']),
  ])
  return columns.filter(({ key }) => !hidden.has(key))
}

function answers({ filter }: EpisodeColumnsProps): Column<Row>[] {
  return [
    {
      key: 'question',
      header: 'Question',
      width: 180,
      grow: 3,
      render: drawn((row) => <Question row={row} filter={filter} />),
    },
    {
      key: 'expected',
      header: 'Expected',
      title: 'The right answer; the model does not see it',
      width: 96,
      grow: 0.5,
      align: 'end',
      priority: 2,
      render: played(({ expected }) => <Line words={expected} strong />),
    },
    {
      key: 'given',
      header: 'Given',
      title: 'The answer that was graded',
      width: 130,
      grow: 1,
      align: 'end',
      priority: 2,
      render: played(({ given }) => <Line words={given} />),
    },
  ]
}

const why: Column<Row> = {
  key: 'why',
  header: 'Why',
  width: 150,
  grow: 2,
  priority: 2,
  render: played((episode) => <Why episode={episode} />),
}

function identity({ filter, samples }: EpisodeColumnsProps): Column<Row>[] {
  return [
    {
      key: 'index',
      header: samples ? 'Row' : '#',
      title: samples ? 'Row of the dataset, starting at 0' : 'Position in the plan',
      width: 64,
      align: 'end',
      sort: 'index',
      render: drawn((row) => <Index row={row} samples={samples} />),
    },
    { key: 'task', header: 'Task', width: 146, grow: 1, render: drawn((row) => <Task row={row} filter={filter} />) },
    {
      key: 'trial',
      header: 'Trial',
      title: 'Repetition of the task',
      width: 56,
      align: 'end',
      priority: 5,
      render: played(({ trial }) => trial + 1),
    },
    {
      key: 'seed',
      header: 'Seed',
      width: 104,
      align: 'end',
      priority: 8,
      render: played(({ seed }) => <span data-tip={seed ?? undefined}>{seed ?? MISSING}</span>),
    },
  ]
}

const labels: Column<Row> = {
  key: 'labels',
  header: 'Labels',
  width: 120,
  grow: 0.8,
  priority: 5,
  render: played(({ labels: given }) => <LabelWords labels={given} />),
}

function outcome({ score, has, samples }: EpisodeColumnsProps): Column<Row>[] {
  return [
    {
      key: 'verdict',
      header: 'Verdict',
      width: 124,
      sort: has.number ? undefined : 'score',
      render: drawn((row) => <Outcome row={row} />),
    },
    {
      key: 'score',
      header: samples ? 'Reward' : 'Score',
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
  ]
}

/** Columns for a phone: two lines a row. */
export function narrowEpisodeColumns({ score, filter, has }: EpisodeColumnsProps): Column<Row>[] {
  return [
    {
      key: 'task',
      header: has.question ? 'Question' : 'Task',
      sort: 'index',
      width: 120,
      grow: 1,
      render: (row) => (
        <span className={styles.lines}>
          <span className={styles.line}>
            {has.question ? <Question row={row} filter={filter} /> : <Task row={row} filter={filter} />}
          </span>
          <span className={styles.second}>{row.kind === 'episode' && <Second episode={row.episode} />}</span>
        </span>
      ),
    },
    has.number
      ? {
          key: 'score',
          header: 'Score',
          width: 76,
          align: 'end',
          sort: 'score',
          render: played((episode) => <EpisodeScore episode={episode} name={score} />),
        }
      : { key: 'verdict', header: 'Verdict', width: 112, sort: 'score', render: drawn((row) => <Outcome row={row} />) },
  ]
}

/** The verdict; before there is one, or where there is none, what became of the episode. */
function Outcome({ row }: { row: Row }) {
  if (row.kind === 'owed') return <span className="muted">not played</span>
  const { verdict, state, why: reason } = row.episode
  if (verdict !== null) return <Verdict name={verdict} title={reason} />
  return state === 'completed' ? null : <Status of="episode" state={state} />
}

function Question({ row, filter }: { row: Row; filter: EpisodeFilter }) {
  if (row.kind === 'owed') return <span className="muted">not played yet</span>
  const { id, task_id: task, question } = row.episode
  return (
    <EpisodeLink id={id} filter={filter} title={question}>
      {question || task.slice(0, 200) || `#${row.index}`}
    </EpisodeLink>
  )
}

function LabelWords({ labels: given }: { labels: Episode['labels'] }) {
  const words = Object.entries(given).map(([name, value]) => `${name}: ${value}`)
  return (
    <span className="muted" data-tip={words.join('\n')}>
      {Object.values(given).join(' · ')}
    </span>
  )
}

function Line({ words, strong = false }: { words: string; strong?: boolean }) {
  const shown = <bdi>{words}</bdi>
  return <span data-tip={words}>{strong ? <strong>{shown}</strong> : shown}</span>
}

/** Why an episode failed or fell short, in one sentence. */
function Why({ episode: { failure, why: reason, scores } }: { episode: Episode }) {
  if (failure !== null) return <FailureCell failure={failure} />
  if (reason !== '') return <Line words={reason} />
  // What a scan could not answer says nothing of the grade.
  const missing = scores.find((score) => score.missing !== null && !isScan(score))
  if (missing?.missing == null) return null
  return (
    <span data-tip={missing.explanation.slice(0, 1_000)}>
      {causeWords(missing.missing).name} <span className="muted">{missing.explanation.slice(0, 200)}</span>
    </span>
  )
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

function Index({ row, samples }: { row: Row; samples: boolean }) {
  const task = samples && row.kind === 'episode' ? row.episode.task_id : ''
  return <span className="muted">{task === '' ? count(row.index) : task.slice(0, 20)}</span>
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
  if (episode.expected !== '' && episode.given !== '') {
    return (
      <>
        expected {episode.expected}, given {episode.given}
      </>
    )
  }
  return (
    <>
      {plural(episode.steps, 'step')} · <Duration seconds={episode.duration_s} />
    </>
  )
}
