/** One task over all models and trials: who solves it, how much they vary, and what that says of the task. */

import { Link, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { useDocument } from '../../api/query'
import { taskName } from '../../compare/episodes/pair'
import answerStyles from '../../episode/answer/answer.module.css'
import { Answer, Cell, Long } from '../../episode/answer/Strip'
import { answerText, questionText } from '../../episode/answer/texts'
import { count, interval, measure, plural } from '../../format'
import { Badge } from '../../parts/Badge'
import { Failure } from '../../parts/Failure'
import { IntervalBar } from '../../parts/IntervalBar'
import { LinkButton } from '../../parts/LinkButton'
import { Page } from '../../parts/Page'
import { PageSkeleton } from '../../parts/PageSkeleton'
import { Panel } from '../../parts/Panel'
import { PlainTable } from '../../parts/PlainTable'
import { TextButton } from '../../parts/TextButton'
import { Verdict } from '../../parts/Verdict'
import { place } from '../../place'
import { Marked } from '../../renderers/Marked'
import { brief } from '../../renderers/marks'
import styles from './task.module.css'
import { answersOf, noiseWords, type Task, type Trial, type Tried, trialsOf, worthComparing } from './taskWords'

export function TaskPage() {
  const { benchmarkId, taskDigest } = useParams({ from: '/benchmarks/$benchmarkId/tasks/$taskDigest' })
  const { data, error, refetch } = useDocument('/api/benchmarks/{benchmark_id}/tasks/{task_digest}', {
    params: { benchmark_id: benchmarkId, task_digest: taskDigest },
  })
  if (data !== undefined) return <TaskView key={data.task_digest} task={data} />
  if (error === null) return <PageSkeleton />
  return (
    <Page title="Task" trail={<Link to="/benchmarks">Benchmarks</Link>}>
      <Failure error={error} title="The task could not be loaded" onRetry={() => void refetch()} />
    </Page>
  )
}

function TaskView({ task }: { task: Task }) {
  const pair = worthComparing(task)
  const given = task.items.some((trial) => trial.given !== '')
  const name = taskName(task.task_id)
  const title = <Marked text={brief(task.benchmark_title || task.benchmark, 80)} />
  return (
    <Page
      title={`${brief(name, 60)} · ${brief(task.benchmark_title || task.benchmark, 40)}`}
      heading={<Marked text={brief(name, 200)} />}
      trail={
        <nav aria-label="Breadcrumb">
          {place.mode === 'server' ? (
            <Link to="/" search={{ benchmark: [task.benchmark] }}>
              {title}
            </Link>
          ) : (
            <Link to="/benchmarks/$benchmarkId" params={{ benchmarkId: task.benchmark }}>
              {title}
            </Link>
          )}{' '}
          › task
        </nav>
      }
      aside={<Standing task={task} />}
      actions={
        pair !== null && (
          <LinkButton to="/compare/episodes" search={pair} icon="compare">
            Compare two episodes
          </LinkButton>
        )
      }
    >
      <TaskStrip task={task} />
      <div className={answerStyles.columns}>
        <div className={answerStyles.main}>
          <Panel
            title="Solved by whom"
            note={task.whole ? 'models, then built-in agents' : 'models, then built-in agents; the newest 50 runs'}
            flush
          >
            <PlainTable label="Who tried it" className={styles.tried}>
              <thead>
                <tr>
                  <th scope="col">Model</th>
                  <th scope="col">Trials</th>
                  <th scope="col" data-numeric>
                    Passed
                  </th>
                  <th scope="col" className={styles.wide}>
                    Share
                  </th>
                  <th scope="col" data-numeric className={styles.wide}>
                    95 %
                  </th>
                  {given && <th scope="col">Given most</th>}
                </tr>
              </thead>
              <tbody>
                {task.tried.map((one) => (
                  <TriedRow key={one.group} one={one} trials={trialsOf(task, one)} given={given} />
                ))}
              </tbody>
            </PlainTable>
          </Panel>
          <Episodes task={task} />
        </div>
        <aside className={answerStyles.main} aria-label="What is known of the task">
          <Panel title="Noise">
            <p>{noiseWords(task)}</p>
          </Panel>
          <Answers task={task} />
          <Labels task={task} />
        </aside>
      </div>
    </Page>
  )
}

const STANDINGS: Record<Task['standing'], { words: string; tone?: 'warn' | 'good' | 'bad' }> = {
  saturated: { words: 'saturated', tone: 'warn' },
  unsolved: { words: 'solved by none', tone: 'bad' },
  disputed: { words: 'look at the reference', tone: 'bad' },
  varies: { words: 'tells models apart', tone: 'good' },
  untried: { words: 'too few models' },
}

function Standing({ task: { standing } }: { task: Task }) {
  const { words, tone } = STANDINGS[standing]
  return <Badge {...(tone && { tone })}>{words}</Badge>
}

function TaskStrip({ task }: { task: Task }) {
  const question = questionText(task.input) || task.question
  const expected = answerText(task.target) || task.expected
  return (
    <section className={answerStyles.strip} aria-label="Question and what the trials say">
      {question !== '' && (
        <Cell name="question" label="Question">
          <Long text={question} />
        </Cell>
      )}
      {expected !== '' && (
        <Cell name="expected" label="Expected">
          <Answer text={expected} />
        </Cell>
      )}
      <Cell name="verdict" label="What the trials say">
        <p>{task.words}</p>
      </Cell>
    </section>
  )
}

function TriedRow({ one, trials, given }: { one: Tried; trials: Trial[]; given: boolean }) {
  return (
    <tr>
      <th scope="row">
        <span className={styles.name}>
          <Marked text={one.name} />
        </span>{' '}
        {one.builtin && <span className="muted">built-in</span>}
        {one.mixed && <span className={styles.mixed}>varies</span>}
      </th>
      <td>
        <span className={styles.dots}>
          {trials.slice(0, 24).map((trial) => (
            <Link
              key={trial.episode_id}
              to="/episodes/$episodeId"
              params={{ episodeId: trial.episode_id }}
              aria-label={`Trial ${trial.trial + 1}: ${verdictWords(trial)}`}
              data-tip={`Trial ${trial.trial + 1}: ${verdictWords(trial)}`}
              className={styles.dot}
              data-verdict={trial.verdict ?? undefined}
            >
              {trial.verdict === null ? measure(trial.score) : SIGNS[trial.verdict]}
            </Link>
          ))}
          {trials.length > 24 && <span className="muted">+{count(trials.length - 24)}</span>}
        </span>
      </td>
      <td data-numeric>
        {one.judged > 0 ? (
          `${count(one.passed)} of ${count(one.judged)}`
        ) : one.low === null ? (
          <span className="muted">–</span>
        ) : (
          `${measure(one.low)}${one.high === one.low ? '' : ` – ${measure(one.high)}`}`
        )}
      </td>
      <td className={styles.wide}>
        {one.share !== null && (
          <IntervalBar
            value={one.share.value}
            low={one.share.low}
            high={one.share.high}
            label={`Share of ${one.name}`}
            width="8rem"
          />
        )}
      </td>
      <td data-numeric className={`${styles.wide} muted`}>
        {one.share !== null && interval(one.share.low, one.share.high, one.share.weak)}
      </td>
      {given && (
        <td data-full={one.given}>
          <Marked text={brief(one.given, 80)} />
          {one.given !== '' && one.trials > 1 && (
            <span className="muted">
              {' '}
              {count(one.given_by)} of {count(one.trials)}
            </span>
          )}
        </td>
      )}
    </tr>
  )
}

const SIGNS = { passed: '✓', not_passed: '✕', error: '▲', missing: '–' } as const

function verdictWords({ verdict, score }: Trial): string {
  if (verdict === null) return `score ${measure(score)}`
  return { passed: 'passed', not_passed: 'not passed', error: 'error', missing: 'missing' }[verdict]
}

const SHOWN = 20

/** Every episode, two of which are chosen to be compared. */
function Episodes({ task }: { task: Task }) {
  const [all, setAll] = useState(false)
  const [first, setFirst] = useState<string | null>(null)
  const names = new Map(task.tried.map(({ group, name }) => [group, name]))
  const order = [...names.keys()]
  const items = [...task.items].sort((one, other) => order.indexOf(one.group) - order.indexOf(other.group))
  const given = items.some((trial) => trial.given !== '')
  const shown = all ? items : items.slice(0, SHOWN)
  return (
    <Panel
      title="All episodes"
      note={first === null ? 'models first' : 'choose the one to compare it with'}
      actions={first !== null && <TextButton onClick={() => setFirst(null)}>Choose another one</TextButton>}
      flush
    >
      <PlainTable label="Episodes of this task" className={styles.episodes}>
        <thead>
          <tr>
            <th scope="col">Episode</th>
            <th scope="col">Verdict</th>
            {given && <th scope="col">Given</th>}
            <th scope="col">Why</th>
            <th scope="col">
              <span className="hidden-text">Compare</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {shown.map((trial) => (
            <tr key={trial.episode_id} data-first={trial.episode_id === first || undefined}>
              <th scope="row" data-tip={trial.run_name || trial.run_id}>
                <Link to="/episodes/$episodeId" params={{ episodeId: trial.episode_id }}>
                  <Marked text={names.get(trial.group) ?? trial.model} />
                </Link>
                {trial.trial > 0 && <span className="muted"> trial {count(trial.trial + 1)}</span>}
              </th>
              <td>{trial.verdict === null ? measure(trial.score) : <Verdict name={trial.verdict} />}</td>
              {given && (
                <td data-full={trial.given}>
                  <Marked text={brief(trial.given, 120)} />
                </td>
              )}
              <td data-full={trial.why}>
                <Marked text={brief(trial.why, 200)} />
              </td>
              <td>
                {first === null ? (
                  <TextButton onClick={() => setFirst(trial.episode_id)}>Compare…</TextButton>
                ) : first === trial.episode_id ? (
                  <span className="muted">chosen</span>
                ) : (
                  <Link to="/compare/episodes" search={{ a: first, b: trial.episode_id }}>
                    With this
                  </Link>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </PlainTable>
      {task.items.length > SHOWN && (
        <TextButton onClick={() => setAll(!all)} aria-expanded={all}>
          {all ? 'Fewer' : plural(task.items.length - SHOWN, 'more episode')}
        </TextButton>
      )}
    </Panel>
  )
}

function Answers({ task }: { task: Task }) {
  const answers = answersOf(task)
  if (answers.length === 0) return null
  return (
    <Panel title="Answers" note="of models, over all trials">
      <ul className={styles.answers}>
        {answers.slice(0, 8).map(({ given, trials, passed }) => (
          <li key={given}>
            <span data-full={given}>
              <Marked text={brief(given, 80)} />
            </span>
            <span className="muted">
              {count(trials.length)}
              {passed > 0 && ', passed'}
            </span>
          </li>
        ))}
      </ul>
      {answers.length > 8 && <p className="muted">{plural(answers.length - 8, 'other answer')}</p>}
    </Panel>
  )
}

function Labels({ task }: { task: Task }) {
  return (
    <Panel title="Task">
      <dl className={answerStyles.facts}>
        {Object.entries(task.labels).map(([name, value]) => (
          <div key={name}>
            <dt>
              <Marked text={name} />
            </dt>
            <dd>
              <Marked text={value} />
            </dd>
          </div>
        ))}
        <div>
          <dt>Digest</dt>
          <dd data-tip={task.task_digest}>
            <code>{task.task_digest.slice(0, 8)}</code>
          </dd>
        </div>
      </dl>
    </Panel>
  )
}
