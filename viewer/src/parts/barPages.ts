/** The pages that the bar links to. */
import type { Place } from '../place'
import { isAdmin, isMember, type Me } from '../session/person'

/** A page in the bar; `keys` is its shortcut. */
export interface BarPage {
  to:
    | (
        | '/'
        | '/gallery'
        | '/environments'
        | '/compare'
        | '/benchmarks'
        | '/domains'
        | '/workspaces'
        | '/teams'
        | '/admin'
      )
    | '/reviews'
  label: string
  keys: string
}

const RUNS: BarPage = { to: '/', label: 'Runs', keys: 'g r' }
const COMPARE: BarPage = { to: '/compare', label: 'Compare', keys: 'g c' }
const REVIEWS: BarPage = { to: '/reviews', label: 'Reviews', keys: 'g v' }

/** Return the pages that this visitor can use. */
export function pagesFor(mode: Place['mode'], me: Me | undefined): BarPage[] {
  const benchmarks: BarPage = { to: '/benchmarks', label: 'Benchmarks', keys: 'g b' }
  // A site is public and has no reviews.
  if (mode !== 'server') return [RUNS, COMPARE, benchmarks, ...(mode === 'laptop' ? [REVIEWS] : [])]
  const all: [BarPage, boolean][] = [
    [{ to: '/gallery', label: 'Gallery', keys: 'g g' }, true],
    [{ to: '/domains', label: 'Leaderboards', keys: 'g l' }, true],
    [RUNS, me !== undefined && me.type !== 'anonymous'],
    [COMPARE, true],
    [REVIEWS, isMember(me)],
    [{ to: '/environments', label: 'Environments', keys: 'g e' }, isMember(me)],
    [{ to: '/workspaces', label: 'Workspaces', keys: 'g w' }, isMember(me)],
    [{ to: '/teams', label: 'Teams', keys: 'g t' }, isMember(me)],
    [{ to: '/admin', label: 'Admin', keys: 'g a' }, isAdmin(me)],
  ]
  return all.filter(([, shown]) => shown).map(([page]) => page)
}
