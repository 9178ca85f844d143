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

/** The answers by the name of their scan; with labels, each label has the same one. */
export function scanAnswers(scores: Schema<'ScoreDocument'>[]): { name: string; text: string }[] {
  const found = new Map<string, string>()
  for (const { name, explanation } of scores) {
    if (!isScan({ name }) || !explanation) continue
    const asked = name.slice(SCAN.length).split('.')[0] ?? name
    found.set(asked, explanation)
  }
  return [...found].map(([name, text]) => ({ name, text }))
}

export function ScanAnswers({ episode, className }: { episode: Schema<'EpisodeDetail'>; className?: string }) {
  return scanAnswers(episode.scores).map(({ name, text }) => {
    const step = STEP.exec(text)?.[1]
    return (
      <p key={name} className={className} data-scan={name}>
        <span className="muted">scan {name}:</span> {step === undefined && 'not measured, '}
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
    )
  })
}
