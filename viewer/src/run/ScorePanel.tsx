/** The headline score: large, with its interval, and in words what it counts. */

import { useQuery } from '@tanstack/react-query'
import type { Schema } from '../api/types'
import { causeWords } from '../cause'
import { count, exact, interval, measure, signed } from '../format'
import { Panel } from '../parts/Panel'
import { SourceLink } from '../parts/SourceLink'
import { distanceOf } from '../runs/published'
import { EpisodeLink } from './EpisodeLink'
import { gist } from './gist'
import { aggregationWords, hasTwoReadings, headline, isGoing, methodWords } from './headline'
import { unitOf } from './results/rollout'
import styles from './ScorePanel.module.css'
import { Tally } from './Tally'
import { seriesQuery } from './useRun'
import { hasVerdicts, verdictCounts } from './verdicts'
import { wrongQuery } from './wrong/wrongQuery'

export function ScorePanel({ run }: { run: Schema<'RunDetail'> }) {
  const { metric, note, sentences } = headline(run)
  const others = run.metrics.filter(({ name }) => name !== metric?.name)
  return (
    <Panel title={metric?.name ?? 'Score'} note={metric === null ? undefined : aggregationWords(metric, unitOf(run))}>
      {metric === null || metric.value === null ? (
        <p className={styles.none}>{note}</p>
      ) : (
        <>
          <p className={styles.score}>
            <strong data-tip={exact(metric.value)}>{measure(metric.value)}</strong>
            <span className={styles.interval} data-tip={methodWords(metric)}>
              {interval(metric.low, metric.high, metric.weak) || 'no interval'}
            </span>
            <span className={styles.n} data-tip={`${methodWords(metric)}; scored / planned ${unitOf(run)}s`}>
              n = {metric.n_scored.toLocaleString('en')}/{metric.n_planned.toLocaleString('en')}
            </span>
          </p>
          <Outcomes run={run} />
          <ul className={styles.words}>
            {sentences.map((sentence) => (
              <li key={sentence}>{sentence}</li>
            ))}
            {!metric.higher_is_better && <li>Lower is better.</li>}
            {run.state === 'partial' && <li>Partial: not ranked on leaderboards.</li>}
            <Published run={run} />
          </ul>
        </>
      )}
      {others.length > 0 && (
        <dl className={styles.others}>
          {others.slice(0, 3).map((other) => (
            <div key={other.name}>
              <dt>{other.name}</dt>
              <dd data-tip={`${exact(other.value)}, ${methodWords(other)}`}>
                {measure(other.value)}{' '}
                <span className="muted">
                  {interval(other.low, other.high, other.weak)} n={count(other.n_scored)}/{count(other.n_planned)}
                </span>
                <Lacking run={run} metric={other} />
              </dd>
            </div>
          ))}
        </dl>
      )}
    </Panel>
  )
}

/** How many passed, where every score says whether it did. */
function Outcomes({ run }: { run: Schema<'RunDetail'> }) {
  const series = useQuery(seriesQuery(run.id))
  const { data } = useQuery(wrongQuery(run.id, 'mistake'))
  if (data === undefined || !hasVerdicts(run, series.data?.histogram ?? null)) return null
  return <Tally counts={verdictCounts(run, data)} going={isGoing(run)} />
}

/** Why a metric lacks values that the one that ranks has, as when only one of two graders failed. */
function Lacking({ run, metric }: { run: Schema<'RunDetail'>; metric: Schema<'MetricDocument'> }) {
  return run.ungraded
    .filter((one) => one.metric === metric.name)
    .map(({ cause, episode_id: id, task_id: task, message }) => (
      <p key={cause} className="muted" data-tip={message.slice(0, 1_000)}>
        {count(metric.missing[cause] ?? 0)} {causeWords(cause).name.toLowerCase()}, first in{' '}
        <EpisodeLink id={id} filter={{}}>
          {task}
        </EpisodeLink>
        : {gist(message, 200)}
      </p>
    ))
}

/** The difference to the best published score. */
function Published({ run }: { run: Schema<'RunDetail'> }) {
  const { published, primary } = run
  if (published === null || published.delta === null) return null
  const { label, value, delta, source } = published
  const distance = distanceOf(run)
  return (
    <li>
      <span data-tip={exact(delta)}>{signed(delta)}</span>{' '}
      <span data-tip="The interval of this run minus the published score, which is treated as exact">
        {distance === null ? 'no interval' : interval(distance.low, distance.high)}
      </span>{' '}
      compared to the best published score,{' '}
      <SourceLink source={source}>
        <bdi>{label}</bdi> {measure(value)}
      </SourceLink>
      {primary !== null && hasTwoReadings(primary) && ', missing episodes excluded'}
    </li>
  )
}
