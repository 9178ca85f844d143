/** Whose runs of a server are, and what follows from that. Elsewhere all runs are one's own. */
import { isAdmin, isMember, type Me } from '../session/person'
import type { Run } from './page'

type Owned = Pick<Run, 'owner' | 'mine' | 'team_id' | 'domain_id'>

/** Whose a run is, in a word or two. */
export function ownerWords({ owner, mine }: Pick<Owned, 'owner' | 'mine'>): string {
  if (mine) return 'you'
  return owner ?? ''
}

/** Whose a run is, on its page. */
export function whoseWords({ owner, mine, team_id }: Owned): string {
  if (mine) return 'yours'
  if (team_id !== null) return 'of your team'
  return owner === 'guest' ? "a guest's" : "another member's"
}

/** Whether the user may change a run. Only members of its team are told the team. */
export function mayChange({ mine, team_id, domain_id }: Owned, me: Me | undefined): boolean {
  if (mine === true) return true
  if (domain_id === null) return false
  return isAdmin(me) || (isMember(me) && team_id !== null)
}
