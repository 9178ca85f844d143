/** The pages that the bar links to. */
import type { Place } from '../place'
import { isAdmin, isMember, type Me } from '../session/person'

/** A page in the bar; `keys` is its shortcut. */
export interface BarPage {
  to:
    | ('/' | '/gallery' | '/environments' | '/compare' | '/benchmarks' | '/domains' | '/workspaces' | '/teams')
    | ('/admin' | '/reviews' | '/rollouts' | '/datasets')
  label: string
  keys: string
}

const RUNS: BarPage = { to: '/', label: 'Runs', keys: 'g r' }
const COMPARE: BarPage = { to: '/compare', label: 'Compare', keys: 'g c' }
const REVIEWS: BarPage = { to: '/reviews', label: 'Reviews', keys: 'g v' }
const BENCHMARKS: BarPage = { to: '/benchmarks', label: 'Benchmarks', keys: 'g b' }
const LEADERBOARDS: BarPage = { to: '/domains', label: 'Leaderboards', keys: 'g l' }
const GALLERY: BarPage = { to: '/gallery', label: 'Gallery', keys: 'g g' }

/** Return the pages that this visitor can use. */
export function pagesFor(mode: Place['mode'], me: Me | undefined): BarPage[] {
  // A site is public and has no reviews.
  if (mode !== 'server') return [RUNS, COMPARE, BENCHMARKS, ...(mode === 'laptop' ? [REVIEWS] : [])]
  if (!isMember(me)) return [GALLERY, LEADERBOARDS, ...(me?.type === 'guest' ? [RUNS] : []), COMPARE]
  return [
    RUNS,
    COMPARE,
    BENCHMARKS,
    { to: '/rollouts', label: 'Rollouts', keys: 'g o' },
    { to: '/datasets', label: 'Datasets', keys: 'g d' },
    REVIEWS,
    GALLERY,
    ...(isAdmin(me) ? [{ to: '/admin', label: 'Admin', keys: 'g a' } as const] : []),
  ]
}

/** Return the pages that are one step away from those of the bar: their shortcuts work, and a folded bar lists them. */
export function furtherPages(mode: Place['mode'], me: Me | undefined): BarPage[] {
  if (mode !== 'server' || !isMember(me)) return []
  return [
    LEADERBOARDS,
    { to: '/environments', label: 'Environments', keys: 'g e' },
    { to: '/workspaces', label: 'Workspaces', keys: 'g w' },
    { to: '/teams', label: 'Teams', keys: 'g t' },
  ]
}
