/** Whose runs of a server are, and what follows from that. Elsewhere all runs are one's own. */
import type { Run } from './page'

type Owned = Pick<Run, 'owner' | 'mine' | 'team_id' | 'workspace_id'>

/** Whose a run is, in a word or two. */
export function ownerWords({ owner, mine }: Pick<Owned, 'owner' | 'mine'>): string {
  if (mine) return 'you'
  return owner ?? ''
}

/** Whose a run is, on its page; a workspace follows where it is in one. */
export function whoseWords({ owner, mine, team_id, workspace_id }: Owned): string {
  if (workspace_id !== null) return mine ? 'yours, in' : `by ${owner ?? 'a member'}, in`
  if (mine) return 'yours'
  if (team_id !== null) return 'of your team'
  return owner === 'guest' ? "a guest's" : "another member's"
}
