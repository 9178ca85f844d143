/** What it means that a run is the best of its benchmark. */

import type { Run } from './page'

/**
 * `best`: ahead of others; `worthless`: ahead of others with a score that is the worst or zero; `only`: no other run has
 * a score.
 */
export type Standing = 'best' | 'worthless' | 'only'

/** The key of the query for the ids of the runs with the same benchmark content that have a score. */
export function rivalsKey({ benchmark, benchmark_digest }: Pick<Run, 'benchmark' | 'benchmark_digest'>) {
  return ['rivals', benchmark, benchmark_digest]
}

/** How good it is that a run is the best among the runs with a score. */
export function standing({ id, primary }: Pick<Run, 'id' | 'primary'>, scored: readonly string[]): Standing {
  if (scored.every((other) => other === id)) return 'only'
  const value = primary?.value ?? null
  const none = value === null || value === primary?.worst_value || (value === 0 && (primary?.higher_is_better ?? true))
  return none ? 'worthless' : 'best'
}
