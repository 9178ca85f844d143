/** Whose a run is, for those who look at it. */
import type { Schema } from '../api/types'
import { isAdmin, type Me } from '../session/person'

type Owned = Pick<Schema<'Run'>, 'requester_id' | 'team_id' | 'redacted'>

/** Whether somebody may change a run: what is hidden from outsiders is shown to them. */
export function mayChange(run: Owned, me: Me | undefined): boolean {
  if (me === undefined || me.type === 'anonymous') return false
  return isAdmin(me) || isOwn(run, me) || (run.team_id != null && run.redacted !== true)
}

/** Whether a run is somebody's own. */
export function isOwn(run: Owned, me: Me): boolean {
  if (!run.requester_id) return false
  return run.requester_id === (me.type === 'guest' ? `guest:${me.guest_session_id}` : String(me.user_id))
}

/** Whose a run is, in words. */
export function ownerWords(run: Owned, me: Me | undefined): string {
  if (me && me.type !== 'anonymous' && isOwn(run, me)) return 'yours'
  if (run.team_id != null && run.redacted !== true) return 'of your team'
  return run.requester_id?.startsWith('guest:') ? "a guest's" : "another member's"
}
