import { Link } from '@tanstack/react-router'
import type { Schema } from '../../api/types'
import { causeWords } from '../../cause'
import { EpisodeState } from '../../episode/EpisodeState'
import { FrameView } from '../../episode/FrameView'
import type { Frame } from '../../episode/frame'
import { count, exact, measure } from '../../format'
import { Skeleton } from '../../parts/Skeleton'
import { Unfinished } from '../../parts/Unfinished'
import { Marked } from '../../renderers/Marked'
import { brief } from '../../renderers/marks'
import { ModelName } from '../../runs/ModelName'
import styles from './episodes.module.css'

interface EpisodeSideProps {
  name: string
  episode: Schema<'EpisodeDetail'>
  frame: Frame | null
  /** The step at which this episode ended, when the other one goes on. */
  over: number | null
}

/** One of the two episodes. */
export function EpisodeSide({ name, episode, frame, over }: EpisodeSideProps) {
  const { run } = episode
  return (
    <section className={styles.side} aria-label={`Episode ${name}`}>
      <header className={styles.head}>
        <h2>
          <span className={styles.name}>{name}</span>{' '}
          <Link
            to="/episodes/$episodeId"
            params={{ episodeId: episode.id }}
            search={{ step: frame?.step || undefined }}
          >
            <Marked text={brief(episode.task_id, 80)} />
          </Link>
        </h2>
        <p className={styles.facts}>
          <EpisodeState episode={episode} />
          <span data-tip={exact(episode.score)}>
            score <strong>{measure(episode.score)}</strong>
          </span>
          <span>
            {count(episode.steps)} {episode.steps === 1 ? 'step' : 'steps'}
          </span>
        </p>
        <p className={styles.facts}>
          <Link to="/runs/$runId" params={{ runId: run.id }}>
            <Marked text={brief(run.name || run.benchmark_title || run.benchmark, 60)} />
          </Link>
          <span className={styles.model}>
            <ModelName model={run.model} />
          </span>
          <Unfinished run={run} />
        </p>
        {episode.failure && <p className={styles.failure}>{causeWords(episode.failure.cause).title}</p>}
      </header>
      {over !== null && (
        <p className={styles.over}>The episode ended after step {count(over)}; this is its last state.</p>
      )}
      {frame ? <FrameView frame={frame} named={episode.view} /> : <Skeleton height="16rem" />}
    </section>
  )
}
