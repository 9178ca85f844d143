/** The primary score of an episode; without a value, whether it counts as worst or is missing, and why. */

import type { Schema } from '../api/types'
import { causeWords } from '../cause'
import { MISSING } from '../format'
import { Num } from '../parts/Num'
import styles from './EpisodeTable.module.css'
import type { Episode } from './plan'

export function EpisodeScore({ episode, name }: { episode: Episode; name: string }) {
  if (episode.score !== null) return <Num value={episode.score} />
  const score = primaryScore(episode.scores, name)
  if (score?.worst) {
    const why = `Counts as the worst value. ${score.explanation}`
    return (
      <span className={styles.worst} data-full={why.slice(0, 1_000)}>
        worst
      </span>
    )
  }
  if (score?.missing) {
    const skipped = score.missing === 'skipped'
    const why = `Left out: ${causeWords(score.missing).name}. ${score.explanation}`
    return (
      <span className={skipped ? 'muted' : styles.missing} data-full={why.slice(0, 1_000)}>
        {skipped ? 'skipped' : 'missing'}
      </span>
    )
  }
  return <span className="muted">{MISSING}</span>
}

function primaryScore(scores: readonly Schema<'ScoreDocument'>[], name: string) {
  return scores.find((score) => score.name === name) ?? scores[0]
}
