/** What the address of the teams page says. */
import { type RawSearch, text } from '../search'

/** The code of a team to join, as links carry it. */
interface TeamsSearch {
  join?: string
}

/** Read the address of the teams page. */
export function readTeamsSearch(search: RawSearch): TeamsSearch {
  return { join: text(search.join) }
}
