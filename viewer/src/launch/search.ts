/** What the address of the new run form says: what is chosen already. */
import { oneOf, type RawSearch, text } from '../search'

/** What a link to the form fills in. */
export interface LaunchSearch {
  domain?: string
  environment?: string
  model?: string
  team?: string
  /** An evaluation of a rollout instead of a run of an environment. */
  kind?: 'rollout'
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
    kind: oneOf(search.kind, ['rollout'] as const),
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
