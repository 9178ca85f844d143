/** Tasks with one turn: a question and one reply to it. */

import type { Schema } from '../../api/types'
import { isRollout } from '../../run/results/rollout'
import type { EpisodeSearch, EpisodeView } from '../search'

/** Whether an episode is one question with one reply; a rollout shows its conversation itself. */
export function isOneTurn({ question, steps, run }: Schema<'EpisodeDetail'>): boolean {
  return question !== '' && steps <= 1 && !isRollout(run) && run.agent !== PROGRAM
}

/** The agent of benchmarks that play by themselves: their calls are many, and not one conversation. */
const PROGRAM = 'program'

/**
 * What the page shows: what its address says; else the conversation of one turn, which also shows words that are sought,
 * unless a step or kinds of events are.
 */
export function viewOf(episode: Schema<'EpisodeDetail'>, { view, step, q, kind }: EpisodeSearch): EpisodeView {
  const oneTurn = isOneTurn(episode)
  if (view !== undefined && (view !== 'conversation' || oneTurn)) return view
  const sought = kind !== undefined || (step !== undefined && q === undefined)
  return oneTurn && !(sought && view === undefined) ? 'conversation' : 'timeline'
}
