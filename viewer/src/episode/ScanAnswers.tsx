/** What models answered about the transcript of an episode, each with its quote and a link to the step it rests on. */

import { Link } from '@tanstack/react-router'
import type { Schema } from '../api/types'
import { Marked } from '../renderers/Marked'

const SCAN = 'scan:'
const STEP = /· step (\d+) ·/

/** Whether a score is the answer of a scan, which is about the episode and no part of its grade. */
export function isScan(score: { name: string }): boolean {
  return score.name.startsWith(SCAN)
}

interface Answer {
  name: string
  text: string
  measured: boolean
  /** The step that its quote is of. */
  step: string | undefined
}

/** The answers by the name of their scan; with labels, each label has the same one. */
export function scanAnswers(scores: Schema<'ScoreDocument'>[]): Answer[] {
  const found = new Map<string, Answer>()
  for (const { name, value, explanation } of scores) {
    if (!isScan({ name }) || !explanation) continue
    const asked = name.slice(SCAN.length).split('.')[0] ?? name
    // What was not measured may quote words that look like a step, and outsiders see the words of no answer.
    const measured = value !== null
    const step = measured ? STEP.exec(explanation)?.[1] : undefined
    found.set(asked, { name: asked, text: explanation, measured, step })
  }
  return [...found.values()]
}

export function ScanAnswers({ episode, className }: { episode: Schema<'EpisodeDetail'>; className?: string }) {
  return scanAnswers(episode.scores).map(({ name, text, measured, step }) => (
    <p key={name} className={className} data-scan={name}>
      <span className="muted">scan {name}:</span> {!measured && 'not measured, '}
      <Marked text={text.slice(0, 1_000)} />{' '}
      {step !== undefined && (
        <Link
          to="/episodes/$episodeId"
          params={{ episodeId: episode.id }}
          search={{ view: 'timeline', step: Number(step) }}
        >
          Go to step {step}
        </Link>
      )}
    </p>
  ))
}
