/** What the sign-in page's address says. */
import { oneOf, type RawSearch, text } from '../search'

/** Where to go on, and whether a new account is made. */
interface SignInSearch {
  next?: string
  as?: 'new'
  /** Why a sign-in elsewhere failed. */
  problem?: string
}

/** Read the address of the sign-in page. */
export function readSignInSearch(search: RawSearch): SignInSearch {
  return { next: text(search.next), as: oneOf(search.as, ['new']), problem: text(search.problem ?? search.error) }
}
