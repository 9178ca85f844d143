/** The code of a workspace, by rollout. */
import type { Schema } from '../api/types'

type Code = Schema<'CodeDocument'>

/** A rollout in the code where it stands first, and its configurations there. */
export interface FoundRollout {
  name: string
  rollout: Code['rollouts'][number]
  code: Code
  configurations: Code['configurations']
}

/** The rollouts of a workspace by name; the code comes in the order in which it is preferred. */
export function rolloutsOf(codes: readonly Code[]): FoundRollout[] {
  const found = new Map<string, FoundRollout>()
  for (const code of codes) {
    for (const rollout of code.rollouts) {
      if (found.has(rollout.name)) continue
      const configurations = code.configurations.filter((one) => one.rollout === rollout.name)
      found.set(rollout.name, { name: rollout.name, rollout, code, configurations })
    }
  }
  return [...found.values()].sort((one, other) => one.name.localeCompare(other.name))
}

/** Where a code comes from in words: `main, c90d3e4`. */
export function originWords({ kind, branch, commit, dirty }: Code): string {
  const at = commit.slice(0, 7)
  if (kind === 'commit') return `${branch}, ${at}`
  return at ? `an upload of ${at}${dirty ? ' with changes' : ''}` : 'an upload'
}

/** A configuration without the folder that all of them are in: `sums.toml`. */
export function fileName(path: string): string {
  return path.replace(/^configs\/eval\//, '')
}

/** The secrets that configurations require, each once. */
export function secretsOf(configurations: Code['configurations']): string[] {
  return [...new Set(configurations.flatMap(({ secrets }) => secrets))].sort()
}

/** The faults of a sync that concern a rollout or one of its configurations. */
export function faultsOf<Fault extends { path: string }>(
  faults: readonly Fault[],
  rollout: string,
  configurations: readonly { path: string }[],
): Fault[] {
  const files = new Set(configurations.map(({ path }) => path))
  const folder = `rollouts/${rollout}`
  return faults.filter(({ path }) => path === folder || path.startsWith(`${folder}/`) || files.has(path))
}
