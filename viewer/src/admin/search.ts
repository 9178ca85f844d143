/** What the address of the administration says. */
import { oneOf, type RawSearch } from '../search'

const TABS = ['status', 'users', 'models', 'audit'] as const

/** The part that is shown. */
interface AdminSearch {
  tab?: (typeof TABS)[number]
}

/** Read the address of the administration. */
export function readAdminSearch(search: RawSearch): AdminSearch {
  return { tab: oneOf(search.tab, TABS) }
}
