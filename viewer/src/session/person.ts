import type { Answer } from '../api/types'
/** What is known of who looks at the page, and what follows from that. */

/** What the server knows of who looks at the page. */
export type Me = Answer<'/api/me', 'get'>

/** Whether somebody is a member. */
export function isMember(me: Me | undefined): boolean {
  return me?.type === 'member'
}

/** Whether somebody runs the server. */
export function isAdmin(me: Me | undefined): boolean {
  return isMember(me) && me?.role === 'admin'
}

/** What somebody is called. */
export function nameOf(me: Me): string {
  if (me.type === 'member') return me.username ?? `user ${me.user_id}`
  return me.type === 'guest' ? 'Guest' : 'Anonymous'
}
