/** What the address of the environments page says. */
import { type RawSearch, text } from '../search'

/** Whose environments are shown: one's own, or those of a team. */
interface EnvironmentsSearch {
  team?: string
}

/** Read the address of the environments page. */
export function readEnvironmentsSearch(search: RawSearch): EnvironmentsSearch {
  return { team: text(search.team) }
}
