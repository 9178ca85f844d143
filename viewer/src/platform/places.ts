/** The pages of a platform that its bar leads to. */
import { isAdmin, isMember, type Me } from '../session/person'

/** A page in the bar; `keys` is the shortcut. */
export interface Place {
  to: '/' | '/gallery' | '/environments' | '/compare' | '/domains' | '/teams' | '/admin'
  label: string
  keys: string
}

/** The pages that somebody can do something with. */
export function placesFor(me: Me | undefined): Place[] {
  const all: (Place & { shown: boolean })[] = [
    { to: '/gallery', label: 'Gallery', keys: 'g g', shown: true },
    { to: '/domains', label: 'Leaderboards', keys: 'g l', shown: true },
    { to: '/', label: 'Runs', keys: 'g r', shown: me !== undefined && me.type !== 'anonymous' },
    { to: '/compare', label: 'Compare', keys: 'g c', shown: true },
    { to: '/environments', label: 'Environments', keys: 'g e', shown: isMember(me) },
    { to: '/teams', label: 'Teams', keys: 'g t', shown: isMember(me) },
    { to: '/admin', label: 'Admin', keys: 'g a', shown: isAdmin(me) },
  ]
  return all.filter((one) => one.shown)
}
