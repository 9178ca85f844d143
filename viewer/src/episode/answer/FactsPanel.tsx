/** The facts of an episode with one turn, beside its conversation. */

import type { Schema } from '../../api/types'
import { count, exact, measure } from '../../format'
import { CopyButton } from '../../parts/CopyButton'
import { Duration } from '../../parts/Duration'
import { Money } from '../../parts/Money'
import { Panel } from '../../parts/Panel'
import { When } from '../../parts/When'
import { Marked } from '../../renderers/Marked'
import { isScan, ScanAnswers } from '../ScanAnswers'
import styles from './answer.module.css'

export function FactsPanel({ episode }: { episode: Schema<'EpisodeDetail'> }) {
  const { usage } = episode
  // What scans answered stands below, with the quotes.
  const labels = Object.entries(episode.labels).filter(([name]) => !isScan({ name }))
  return (
    <Panel title="Facts">
      <dl className={styles.facts}>
        {episode.scores
          .filter((score) => !isScan(score))
          .map((score) => (
            <div key={score.name}>
              <dt>
                <Marked text={score.name} />
              </dt>
              <dd data-tip={score.value === null ? score.explanation : exact(score.value)}>
                {score.value === null ? (score.worst ? 'worst' : 'missing') : measure(score.value)}
              </dd>
            </div>
          ))}
        <div>
          <dt>Trial</dt>
          <dd>{count(episode.trial + 1)}</dd>
        </div>
        {usage.total > 0 && (
          <div>
            <dt>Tokens</dt>
            <dd>
              {count(usage.prompt)} in, {count(usage.completion)} out
            </dd>
          </div>
        )}
        {usage.cost_usd !== 0 && (
          <div>
            <dt>Cost</dt>
            <dd>
              <Money usd={usage.cost_usd} />
            </dd>
          </div>
        )}
        <div>
          <dt>Duration</dt>
          <dd>
            <Duration seconds={episode.duration_s} />
          </dd>
        </div>
        {episode.retries > 0 && (
          <div>
            <dt>Retries</dt>
            <dd>{count(episode.retries)}</dd>
          </div>
        )}
        <div>
          <dt>Started</dt>
          <dd>
            <When at={episode.started_at} />
          </dd>
        </div>
        {labels.map(([name, value]) => (
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
          <dt>Task</dt>
          <dd data-tip={`${episode.task_id}, digest ${episode.task_digest}`}>
            <code>{episode.task_digest.slice(0, 8)}</code>{' '}
            <CopyButton text={episode.task_digest} label="Copy task digest" />
          </dd>
        </div>
        <div>
          <dt>Episode</dt>
          <dd data-tip={episode.id}>
            <code>{episode.id.slice(0, 8)}</code> <CopyButton text={episode.id} label="Copy episode ID" />
          </dd>
        </div>
      </dl>
      <ScanAnswers episode={episode} className={styles.scan} />
    </Panel>
  )
}
