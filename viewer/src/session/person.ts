import type { Answer } from '../api/types'
/** What is known of who looks at the page, and what follows from that. */

/** What the server knows of who looks at the page. */
export type Me = Answer<'/api/me', 'get'>

/** Whether the user is a member. */
export function isMember(me: Me | undefined): boolean {
  return me?.type === 'member'
}

/** Whether the user is an administrator. */
export function isAdmin(me: Me | undefined): boolean {
  return isMember(me) && me?.role === 'admin'
}

/** Return the display name of the user. */
export function nameOf(me: Me): string {
  if (me.type === 'member') return me.username ?? `user ${me.user_id}`
  return me.type === 'guest' ? 'Guest' : 'Anonymous'
}
