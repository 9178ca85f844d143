/** The steps of building an environment, and how far one is. */

import { BUILD_STATES } from '../api/words'
import { keysOf } from '../search'

/** A step and where it stands. */
export interface Stage {
  name: string
  label: string
  /** What is done in it, for those who wait. */
  about: string
  state: 'done' | 'now' | 'failed' | 'ahead'
}

const STEPS = keysOf(BUILD_STATES).filter((name) => name !== 'ready' && name !== 'failed')

/** The steps of a build whose state is `state`; `reached` is the step in which it failed, when the log tells. */
export function stagesOf(state: string, reached?: string): Stage[] {
  const at = STEPS.findIndex((name) => name === (state === 'failed' ? reached : state))
  return STEPS.map((name, place) => ({
    name,
    label: BUILD_STATES[name].name,
    about: BUILD_STATES[name].meaning,
    state: stateOf(place, at, state),
  }))
}

function stateOf(place: number, at: number, state: string): Stage['state'] {
  if (state === 'ready') return 'done'
  if (at < 0 || place > at) return 'ahead'
  if (place < at) return 'done'
  return state === 'failed' ? 'failed' : 'now'
}

/** Whether a build goes on. */
export function building(status: string | undefined): boolean {
  return status === 'pending' || STEPS.some((name) => name === status)
}

/** The step that a log of a failed build ended in: the last one that it names. */
export function reachedIn(log: string): string | undefined {
  const found = [...log.matchAll(new RegExp(`^.*\\b(${STEPS.slice(1).join('|')})\\b`, 'gm'))]
  return found.at(-1)?.[1]
}
