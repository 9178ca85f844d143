/** What the grader made of a sample: reward, why, gold label, named scores, labels, files. */

import { address } from '../../api/address'
import { useDocument } from '../../api/query'
import type { Schema } from '../../api/types'
import { causeWords } from '../../cause'
import { exact, measure } from '../../format'
import { Badge } from '../../parts/Badge'
import { CopyButton } from '../../parts/CopyButton'
import { Panel } from '../../parts/Panel'
import { ContentView } from '../../renderers/ContentView'
import { Marked } from '../../renderers/Marked'
import { thresholdOf } from '../../run/results/rollout'
import { goesOn } from '../goesOn'
import type { SampleFacts } from './facts'
import styles from './sample.module.css'
import { useOutcome } from './useOutcome'

interface VerdictProps {
  episode: Schema<'EpisodeDetail'>
  facts: SampleFacts
}

export function Verdict({ episode, facts }: VerdictProps) {
  // A sample that failed left no outcome; its gold label stands with what is known of the failure.
  const label = labelIn(useOutcome(episode)) ?? labelIn(episode.terminal_info)
  const reward = episode.scores.find(({ name }) => name === 'reward') ?? episode.scores[0]
  const named = facts.metrics.length > 0 ? facts.metrics : namedScores(episode, reward?.name)
  const labels = Object.entries(episode.labels)
  return (
    <Panel title="Verdict">
      <dl className={styles.facts}>
        <div>
          <dt>Reward</dt>
          <dd>
            <Reward episode={episode} score={reward} facts={facts} />
          </dd>
        </div>
        {label !== undefined && (
          <div>
            <dt>Gold label</dt>
            <dd className={styles.label}>
              <ContentView data={label} type={typeof label === 'string' ? 'text/plain' : ''} />
            </dd>
          </div>
        )}
        {named.length > 0 && (
          <div>
            <dt>Named scores</dt>
            <dd>
              <NamedScores scores={named} />
            </dd>
          </div>
        )}
        {labels.length > 0 && (
          <div>
            <dt>Labels</dt>
            <dd className={styles.chips}>
              {labels.map(([name, value]) => (
                <Badge key={name} title={`${name}: ${value}`}>
                  <span className="muted">{name}</span> <bdi>{value}</bdi>
                </Badge>
              ))}
            </dd>
          </div>
        )}
        {episode.artifacts.length > 0 && (
          <div>
            <dt>Files</dt>
            <dd>
              <FileList files={episode.artifacts} />
            </dd>
          </div>
        )}
        {episode.artifacts.length === 0 && facts.artifacts !== '' && (
          <div>
            <dt>Files</dt>
            <dd className={styles.path}>
              <code>{facts.artifacts}</code> <CopyButton text={facts.artifacts} label="Copy the path" />
            </dd>
          </div>
        )}
      </dl>
    </Panel>
  )
}

interface RewardProps extends VerdictProps {
  score: Schema<'ScoreDocument'> | undefined
}

function Reward({ episode, score, facts }: RewardProps) {
  const { data: run } = useDocument('/api/runs/{run_id}', { params: { run_id: episode.run_id } })
  const threshold = run === undefined ? null : thresholdOf(run)
  const value = score?.value ?? null
  const why = score?.explanation || facts.ungraded
  return (
    <>
      <span className={styles.reward}>
        <strong data-tip={exact(value)}>
          {value === null ? withoutReward(episode, score, facts) : measure(value)}
        </strong>
        {value !== null && threshold !== null && (
          <Badge tone={value >= threshold ? 'good' : 'bad'} icon={value >= threshold ? 'check' : 'close'}>
            {value >= threshold ? 'passed' : `below ${measure(threshold)}`}
          </Badge>
        )}
      </span>
      {why && why !== episode.failure?.message && (
        <p className={styles.why}>
          <Marked text={why.slice(0, 4_000)} />
        </p>
      )}
    </>
  )
}

function withoutReward(
  episode: Schema<'EpisodeDetail'>,
  score: Schema<'ScoreDocument'> | undefined,
  facts: SampleFacts,
): string {
  if (goesOn(episode)) return 'not graded yet'
  if (facts.leftOut || score?.missing === 'skipped') return 'skipped by the grader'
  if (score?.worst) return 'none; counts as worst'
  return score?.missing ? `missing: ${causeWords(score.missing).name.toLowerCase()}` : 'none'
}

/** Files that the sample wrote, to download. */
function FileList({ files }: { files: readonly Schema<'ArtifactDocument'>[] }) {
  return (
    <ul className={styles.files}>
      {files.map(({ id, name, digest }) => (
        <li key={id}>
          <a href={address('/api/blobs/{digest}', { digest }, { download: name.split('/').at(-1) })} download>
            <bdi>{name}</bdi>
          </a>
        </li>
      ))}
    </ul>
  )
}

function NamedScores({ scores }: { scores: readonly [string, number][] }) {
  return (
    <table className={styles.scores}>
      <tbody>
        {scores.map(([name, value]) => (
          <tr key={name}>
            <th scope="row">
              <bdi>{name}</bdi>
            </th>
            <td data-tip={exact(value)}>{measure(value)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function namedScores(episode: Schema<'EpisodeDetail'>, reward: string | undefined): [string, number][] {
  return episode.scores.flatMap(({ name, value }): [string, number][] =>
    name === reward || value === null ? [] : [[name, value]],
  )
}

function labelIn(outcome: unknown): unknown {
  return typeof outcome === 'object' && outcome !== null && 'label' in outcome && outcome.label !== null
    ? outcome.label
    : undefined
}
