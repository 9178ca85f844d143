/** How far a run is. */
import { count, duration, plural } from '../format'
import type { Run } from './page'

type Going = Pick<Run, 'state' | 'counts' | 'duration_s'>

/** The part of the planned episodes that is done, 0…1; none planned is nothing done. */
export function doneShare({ counts }: Pick<Run, 'counts'>): number {
  return counts.planned === 0 ? 0 : Math.min(counts.done / counts.planned, 1)
}

/** Seconds until a running run is done if it goes on as it did; null where that cannot be said yet. */
export function secondsLeft({ state, counts, duration_s }: Going): number | null {
  if (state !== 'running' || duration_s === null || counts.done === 0 || counts.owed === 0) return null
  return (duration_s / counts.done) * counts.owed
}

/** Episodes by outcome in words. */
export function countWords(run: Going): string {
  const { planned, done, failed, truncated, timeout } = run.counts
  const parts = [`${count(done)} of ${plural(planned, 'episode')} done`]
  if (failed > 0) parts.push(`${count(failed)} failed`)
  if (timeout > 0) parts.push(`${count(timeout)} timed out`)
  if (truncated > 0) parts.push(`${count(truncated)} truncated`)
  const left = secondsLeft(run)
  if (left !== null) parts.push(`about ${duration(left)} left`)
  return parts.join(', ')
}

/** The time that is left, roughly: ~8 s, ~17m, ~2h. */
export function leftWords(seconds: number): string {
  return seconds < 59.5 ? `~${Math.ceil(seconds)} s` : `~${duration(Math.max(seconds, 60)).split(' ')[0]}`
}
