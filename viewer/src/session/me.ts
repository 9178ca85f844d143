/** Who looks at the page. */
import { useQuery } from '@tanstack/react-query'
import { type PlatformAnswer, platformQuery } from '../api/platform'

/** What the platform knows of who looks at the page. */
export type Me = PlatformAnswer<'/v1/me'>

/** Who looks at the page, as a query. */
export function meQuery() {
  return { ...platformQuery('/v1/me'), staleTime: 60_000 }
}

/** Who looks at the page; nothing until that is known. */
export function useMe(): Me | undefined {
  return useQuery(meQuery()).data
}

/** Whether somebody is a member. */
export function isMember(me: Me | undefined): boolean {
  return me?.type === 'member'
}

/** Whether somebody runs the platform. */
export function isAdmin(me: Me | undefined): boolean {
  return isMember(me) && me?.role === 'admin'
}

/** What somebody is called. */
export function nameOf(me: Me): string {
  if (me.type === 'member') return me.username ?? `user ${me.user_id}`
  return me.type === 'guest' ? 'Guest' : 'Nobody'
}
