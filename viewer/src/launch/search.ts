/** What the address of the new run form says: what is chosen already. */
import { oneOf, type RawSearch, text } from '../search'

/** What a link to the form fills in. */
export interface LaunchSearch {
  domain?: string
  environment?: string
  model?: string
  team?: string
  benchmark?: string
  /** What is run, where nothing else of the address says it; by default a benchmark. */
  kind?: 'rollout' | 'environment'
  /** The run that is repeated. */
  from?: string
  workspace?: string
  branch?: string
  configuration?: string
  dataset?: string
  version?: string
}

/** Read the address of the form. */
export function readLaunchSearch(search: RawSearch): LaunchSearch {
  return {
    domain: text(search.domain),
    environment: text(search.environment),
    model: text(search.model),
    team: text(search.team),
    benchmark: text(search.benchmark),
    kind: oneOf(search.kind, ['rollout', 'environment'] as const),
    from: text(search.from),
    workspace: text(search.workspace),
    branch: text(search.branch),
    configuration: text(search.configuration),
    dataset: text(search.dataset),
    version: text(search.version),
  }
}

/** Whether the address asks for an evaluation of a rollout. */
export function isEvaluation({ kind, from, workspace, configuration }: LaunchSearch): boolean {
  return kind === 'rollout' || [from, workspace, configuration].some((given) => given !== undefined)
}

/** Whether the address asks for runs of a benchmark. */
export function isBenchmark({ kind, domain, environment, team, ...rest }: LaunchSearch): boolean {
  if (isEvaluation(rest)) return false
  return kind === undefined && [domain, environment, team].every((given) => given === undefined)
}
