/** The metrics that a benchmark declares, in words. */

import type { Schema } from '../api/types'
import { rangeWords } from './vow'

type Json = Schema<'JsonValue'>

/** One declared metric in words. */
export interface MetricWords {
  name: string
  meaning: string
  range: string
  better: string
  primary: boolean
}

/** Read the metrics of a benchmark's own description; what is no metric is passed over. */
export function metricWords(raw: Json | undefined): MetricWords[] {
  if (!Array.isArray(raw)) return []
  return raw.flatMap((item) => {
    if (typeof item !== 'object' || item === null || Array.isArray(item) || typeof item.name !== 'string') return []
    const { name, score, aggregation, threshold, low, high, primary, higher_is_better: up, directed } = item
    return [
      {
        name,
        meaning: meaning(aggregation, typeof score === 'string' ? score : name, threshold),
        range: rangeWords(low, high),
        better: directed === false ? '–' : up === false ? 'lower' : 'higher',
        primary: primary === true,
      },
    ]
  })
}

function meaning(aggregation: Json | undefined, score: string, threshold: Json | undefined): string {
  if (aggregation === 'pass_rate')
    return `share of episodes with ${score} above ${typeof threshold === 'number' ? threshold : 0}`
  return `${typeof aggregation === 'string' ? aggregation : 'mean'} of ${score} over the episodes`
}
