/** Whether an episode still grows: one whose run has ended stays as it is, whatever its own state says. */
import type { Schema } from '../api/types'

type Run = Pick<Schema<'RunSummary'>, 'state'>
type Episode = Pick<Schema<'EpisodeDetail'>, 'state'> & { run: Run }

const ENDS: Record<string, string> = {
  interrupted: 'its run was interrupted',
  stopped: 'its run was stopped',
  cancelled: 'its run was cancelled',
  failed: 'its run failed',
}

/** Whether events of the episode may still come. */
export function goesOn(episode: Episode | undefined): boolean {
  return episode !== undefined && isOpen(episode.state) && isOpen(episode.run.state)
}

/** Why the episode has no end although nobody plays it any more, in words; empty when it has one or goes on. */
export function cutOffWords({ state, run }: Episode): string {
  if (!isOpen(state) || isOpen(run.state)) return ''
  const why = ENDS[run.state] ?? 'its run has ended'
  return state === 'pending' ? `not played: ${why}` : `interrupted: ${why}; resume the run to play it again`
}

function isOpen(state: string): boolean {
  return state === 'running' || state === 'pending'
}
