/** The steps of building an environment, and how far one is. */

/** A step and where it stands. */
export interface Stage {
  name: string
  label: string
  /** What is done in it, for those who wait. */
  about: string
  state: 'done' | 'now' | 'failed' | 'ahead'
}

const STEPS = [
  { name: 'queued', label: 'Queued', about: 'waits for a worker' },
  { name: 'cloning', label: 'Clone', about: 'fetches the repository and pins the commit' },
  { name: 'checking', label: 'Check', about: 'finds the manifest, checks its vow and scoring' },
  { name: 'installing', label: 'Install', about: 'installs requirements into an environment of its own' },
  { name: 'testing', label: 'Try', about: 'starts the adapter, resets it, takes a step' },
] as const

/** The steps of a build whose state is `state`; `reached` is the step in which it failed, when the log tells. */
export function stagesOf(state: string, reached?: string): Stage[] {
  const at = STEPS.findIndex((step) => step.name === (state === 'failed' ? reached : state))
  return STEPS.map((step, place) => ({ ...step, state: stateOf(place, at, state) }))
}

function stateOf(place: number, at: number, state: string): Stage['state'] {
  if (state === 'ready') return 'done'
  if (at < 0 || place > at) return 'ahead'
  if (place < at) return 'done'
  return state === 'failed' ? 'failed' : 'now'
}

/** Whether a build goes on. */
export function building(status: string | undefined): boolean {
  return status === 'pending' || status === 'cloning' || STEPS.some((step) => step.name === status)
}

/** The step that a log of a failed build ended in: the last one that it names. */
export function reachedIn(log: string): string | undefined {
  const found = [...log.matchAll(/^.*\b(cloning|checking|installing|testing)\b/gm)]
  return found.at(-1)?.[1]
}
