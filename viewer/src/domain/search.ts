/** What the address of the domains says. */
import { type RawSearch, text } from '../search'

/** Words to look for. */
interface DomainsSearch {
  q?: string
}

/** Read the address of the domains. */
export function readDomainsSearch(search: RawSearch): DomainsSearch {
  return { q: text(search.q) }
}
