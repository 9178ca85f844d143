import type { Schema } from '../api/types'
import { causeWords } from '../cause'
import { count, exact, measure } from '../format'
import { Duration } from '../parts/Duration'
import { Icon } from '../parts/Icon'
import { Money } from '../parts/Money'
import { Num } from '../parts/Num'
import { Tokens } from '../parts/Tokens'
import { When } from '../parts/When'
import { Marked } from '../renderers/Marked'
import { isRollout } from '../run/results/rollout'
import { Fact } from './Fact'
import styles from './head.module.css'
import { isScan, ScanAnswers } from './ScanAnswers'
import { WorstScore } from './WorstScore'

const MOST_SCORES = 6

/** The numbers of an episode on one line: scores first. */
export function EpisodeFacts({ episode }: { episode: Schema<'EpisodeDetail'> }) {
  // The page of a sample tells these where it shows what came of it.
  const sample = isRollout(episode.run)
  const primary = episode.run.primary?.name
  const first = (name: string) => name === primary || `mean_${name}` === primary
  const shown = sample
    ? episode.scores.filter(({ name }) => name === primary)
    : episode.scores
        .filter(({ name, value }) => name !== 'steps' || value !== episode.steps)
        .toSorted((a, b) => Number(first(b.name)) - Number(first(a.name)))
  const scores = shown.slice(0, MOST_SCORES)
  // A program plays an episode in one step, whose reward is a score again.
  const played = !sample && episode.run.agent !== 'program'
  return (
    <>
      <dl className={styles.facts}>
        {scores.map((score) => (
          <ScoreFact key={score.name} score={score} runId={episode.run_id} />
        ))}
        {!scores.length && (
          <Fact label="Score">
            <span className="muted" data-tip="not scored yet, or not scored by the benchmark">
              –
            </span>
          </Fact>
        )}
        {episode.total_reward !== null &&
          episode.steps > 0 &&
          played &&
          !scores.some(({ name }) => name === 'reward') && (
            <Fact label="Reward">
              <Num value={episode.total_reward} />
            </Fact>
          )}
        {!sample && (
          <Fact label="Steps">
            <Num value={episode.steps} form={count} />
          </Fact>
        )}
        <UsageFacts usage={episode.usage} />
        <Fact label="Duration">
          <Duration seconds={episode.duration_s} />
        </Fact>
        {episode.retries > 0 && (
          <Fact label="Retries">
            <Num value={episode.retries} form={count} />
          </Fact>
        )}
        {!sample && (episode.seed !== null || played) && (
          <Fact label="Seed">
            <span className={styles.seed}>{episode.seed ?? '–'}</span>
          </Fact>
        )}
        <Fact label="Trial">{episode.trial + 1}</Fact>
        <Fact label="Started">
          <When at={episode.started_at} />
        </Fact>
      </dl>
      {(sample ? [] : explanations(episode)).map(({ name, text }) => (
        <p key={name} className={styles.explanation}>
          <span className="muted">{name}:</span> <Marked text={text.slice(0, 1_000)} />
        </p>
      ))}
      <ScanAnswers episode={episode} className={styles.explanation} />
    </>
  )
}

function UsageFacts({ usage }: { usage: Schema<'EpisodeDetail'>['usage'] }) {
  if (usage.total === 0) return null
  return (
    <>
      <Fact label="Tokens">
        <Tokens value={usage.total} />
      </Fact>
      <Fact label="Cost">
        <Money usd={usage.cost_usd} />
      </Fact>
    </>
  )
}

function ScoreFact({ score, runId }: { score: Schema<'ScoreDocument'>; runId: string }) {
  const label = score.name
  if (score.missing !== null) {
    return (
      <Fact label={label}>
        <span className={styles.missing} data-tip={causeWords(score.missing).title}>
          <Icon name="dash" size={13} /> {score.missing === 'skipped' ? 'skipped' : 'missing'}
        </span>
      </Fact>
    )
  }
  return (
    <Fact label={label}>
      <span className={styles.score} data-tip={exact(score.value)}>
        {score.value === null && score.worst ? '' : measure(score.value)}
        {score.worst && <WorstScore name={score.name} runId={runId} />}
      </span>
    </Fact>
  )
}

/** Return how scores came about, every explanation once; the failure tells itself. */
function explanations(episode: Schema<'EpisodeDetail'>): { name: string; text: string }[] {
  const found = new Map<string, string[]>()
  for (const { name, explanation } of episode.scores.filter((score) => !isScan(score))) {
    // The strip on top says why the primary score is what it is.
    if (!explanation || explanation === episode.failure?.message) continue
    if (explanation.toLowerCase() === episode.why.toLowerCase()) continue
    found.set(explanation, [...(found.get(explanation) ?? []), name])
  }
  return [...found].map(([text, names]) => ({ name: names.slice(0, 3).join(', '), text }))
}
