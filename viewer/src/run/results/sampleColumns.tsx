/** The columns of the table of samples. */

import { causeWords } from '../../cause'
import { measure } from '../../format'
import type { Column } from '../../parts/column'
import { Duration } from '../../parts/Duration'
import { Icon } from '../../parts/Icon'
import { Status } from '../../parts/Status'
import { EpisodeLink } from '../EpisodeLink'
import { EpisodeScore } from '../EpisodeScore'
import styles from '../EpisodeTable.module.css'
import { amounts, drawn, type EpisodeColumnsProps, played } from '../episodeColumns'
import { FailureCell } from '../FailureCell'
import type { Episode, Row } from '../plan'
import type { EpisodeFilter } from '../search'
import sampleStyles from './samples.module.css'

/** What the columns show depends on these. */
interface SampleColumnsProps extends EpisodeColumnsProps {
  /** The reward from which on a sample passes; null where nobody said. */
  threshold: number | null
  /** Whether samples have labels. */
  labelled: boolean
}

/** Amounts that mean something for samples, in the order of the table. */
const AMOUNTS = ['tokens', 'cost', 'duration', 'retries'] as const

/** Columns for a wide window. */
export function sampleColumns(props: SampleColumnsProps): Column<Row>[] {
  const known = amounts()
  const columns = [
    ...identity(props),
    ...outcome(props),
    ...AMOUNTS.flatMap((key) => known.filter((column) => column.key === key)),
    cause,
    labels,
  ]
  return columns.filter(
    ({ key }) =>
      (key !== 'trial' || props.trials) &&
      (key !== 'passed' || props.threshold !== null) &&
      (key !== 'labels' || props.labelled),
  )
}

function identity({ filter }: SampleColumnsProps): Column<Row>[] {
  return [
    {
      key: 'task',
      header: 'Row',
      title: 'Row of the dataset, starting at 0',
      width: 90,
      align: 'end',
      sort: 'index',
      render: drawn((row) => <RowLink row={row} filter={filter} />),
    },
    {
      key: 'trial',
      header: 'Trial',
      title: 'Repetition of the row, starting at 0',
      width: 60,
      align: 'end',
      priority: 2,
      render: played(({ trial }) => trial),
    },
  ]
}

function outcome({ score, threshold }: SampleColumnsProps): Column<Row>[] {
  return [
    {
      key: 'state',
      header: 'State',
      width: 120,
      priority: 2,
      render: drawn((row) => <Status of="episode" state={row.kind === 'episode' ? row.episode.state : 'pending'} />),
    },
    {
      key: 'score',
      header: 'Reward',
      width: 84,
      align: 'end',
      sort: 'score',
      render: played((episode) => <EpisodeScore episode={episode} name={score} />),
    },
    {
      key: 'passed',
      header: 'Passed',
      title: threshold === null ? undefined : `Reward of at least ${measure(threshold)}`,
      width: 76,
      priority: 3,
      render: played((episode) => <Passed episode={episode} threshold={threshold} />),
    },
  ]
}

const cause: Column<Row> = {
  key: 'failure',
  header: 'Cause',
  width: 180,
  grow: 2.4,
  priority: 2,
  render: played((episode) => <Cause episode={episode} />),
}

const labels: Column<Row> = {
  key: 'labels',
  header: 'Labels',
  width: 170,
  grow: 1.6,
  priority: 5,
  render: played(({ labels: given }) => <LabelWords labels={given} />),
}

/** Columns for a phone: two lines a row. */
export function narrowSampleColumns({ score, filter, trials, threshold }: SampleColumnsProps): Column<Row>[] {
  return [
    {
      key: 'task',
      header: 'Row',
      sort: 'index',
      width: 120,
      grow: 1,
      render: (row) => (
        <span className={styles.lines}>
          <span className={styles.line}>
            <RowLink row={row} filter={filter} />
            {trials && row.kind === 'episode' && <span className="muted"> trial {row.episode.trial}</span>}
          </span>
          <span className={styles.second}>{row.kind === 'episode' && <Second episode={row.episode} />}</span>
        </span>
      ),
    },
    ...outcome({ score, filter, trials, threshold, labelled: false }).filter(({ key }) => key !== 'passed'),
  ]
}

function RowLink({ row, filter }: { row: Row; filter: EpisodeFilter }) {
  if (row.kind === 'owed') return <span className="muted">not played yet</span>
  const { id, task_id: task } = row.episode
  return (
    <EpisodeLink id={id} filter={filter} title={`row ${task.slice(0, 1_000)}`}>
      {task.slice(0, 200) || `#${row.index}`}
    </EpisodeLink>
  )
}

function Passed({ episode, threshold }: { episode: Episode; threshold: number | null }) {
  if (episode.score === null || threshold === null) return null
  const passed = episode.score >= threshold
  return (
    <span className={passed ? sampleStyles.passed : sampleStyles.below}>
      <Icon name={passed ? 'check' : 'close'} size={13} /> {passed ? 'yes' : 'no'}
    </span>
  )
}

/** Why a sample has no ordinary reward: it failed, or its grader did. */
function Cause({ episode: { failure, scores } }: { episode: Episode }) {
  if (failure !== null) return <FailureCell failure={failure} />
  const missing = scores.find((score) => score.missing !== null)
  if (missing?.missing == null) return null
  return (
    <span title={missing.explanation.slice(0, 1_000)}>
      {causeWords(missing.missing).name} <span className="muted">{missing.explanation.slice(0, 200)}</span>
    </span>
  )
}

function LabelWords({ labels: given }: { labels: Episode['labels'] }) {
  const words = Object.entries(given).map(([name, value]) => `${name}: ${value}`)
  return (
    <span className="muted" title={words.join('\n')}>
      {Object.values(given).join(' · ')}
    </span>
  )
}

function Second({ episode }: { episode: Episode }) {
  if (episode.failure !== null || episode.score === null) return <Cause episode={episode} />
  return <Duration seconds={episode.duration_s} />
}
