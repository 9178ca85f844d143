/** What a rollout left about a sample, read from the episode's last words. */

import type { Schema } from '../../api/types'

type Json = Record<string, unknown>

/** Seconds that the stages of a sample took. */
export interface Timing {
  queued: number
  workflow: number
  grader: number
}

/** What is known of a sample beyond what every episode has. What was not told is null. */
export interface SampleFacts {
  timing: Timing | null
  artifacts: string
  graderFailure: { cause: string; boundary: string; message: string; detail: string; stderr: string } | null
  blocked: { seconds: number; where: string } | null
  /** Why nobody graded it. */
  ungraded: string
  leftOut: boolean
  /** Messages of a workflow that failed on its way. */
  partial: unknown[] | null
  extra: Json | null
  metrics: [string, number][]
}

/** Read the facts; the document may have any shape. */
export function sampleFacts(episode: Pick<Schema<'EpisodeDetail'>, 'terminal_info'>): SampleFacts {
  const info: Json = episode.terminal_info
  const failure = objectIn(info, 'grader_failure')
  const timing = objectIn(info, 'timing')
  const blocked = objectIn(info, 'blocked')
  const extra = objectIn(info, 'extra')
  return {
    timing: timing && {
      queued: numberIn(timing, 'queued_s'),
      workflow: numberIn(timing, 'workflow_s'),
      grader: numberIn(timing, 'grader_s'),
    },
    artifacts: textIn(info, 'artifacts'),
    graderFailure: failure && {
      cause: textIn(failure, 'cause') || 'grader_error',
      boundary: textIn(failure, 'boundary') || 'grader',
      message: textIn(failure, 'message'),
      detail: textIn(failure, 'detail'),
      stderr: textIn(failure, 'stderr'),
    },
    blocked: blocked && { seconds: numberIn(blocked, 'seconds'), where: textIn(blocked, 'where') },
    ungraded: textIn(info, 'ungraded'),
    leftOut: info.left_out === true,
    partial: Array.isArray(info.partial) && info.partial.length > 0 ? info.partial : null,
    extra: extra && Object.keys(extra).length > 0 ? extra : null,
    metrics: Object.entries(objectIn(info, 'metrics') ?? {}).filter(
      (entry): entry is [string, number] => typeof entry[1] === 'number',
    ),
  }
}

function objectIn(values: Json, name: string): Json | null {
  const value = values[name]
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : null
}

function textIn(values: Json, name: string): string {
  const value = values[name]
  return typeof value === 'string' ? value : ''
}

function numberIn(values: Json, name: string): number {
  const value = values[name]
  return typeof value === 'number' ? value : 0
}
