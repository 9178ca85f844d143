import type { Schema } from '../api/types'

/** How far a run is from the best published score, which is taken as exact; null without a score or an interval. */
export function distanceOf({ published, primary }: Pick<Schema<'RunSummary'>, 'published' | 'primary'>) {
  if (!published || published.delta === null || primary?.low == null || primary.high === null) return null
  return { value: published.delta, low: primary.low - published.value, high: primary.high - published.value }
}
