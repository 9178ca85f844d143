/** What the address of the new run form says: what is chosen already. */
import { type RawSearch, text } from '../search'

/** What a link to the form fills in. */
export interface LaunchSearch {
  domain?: string
  environment?: string
  model?: string
  team?: string
}

/** Read the address of the form. */
export function readLaunchSearch(search: RawSearch): LaunchSearch {
  return {
    domain: text(search.domain),
    environment: text(search.environment),
    model: text(search.model),
    team: text(search.team),
  }
}
