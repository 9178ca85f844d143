/** What of the Compare pages lives in their addresses. */
import { index, type RawSearch, text, texts } from '../search'

/** The runs that are compared, the first one is the baseline, and the metric. */
export interface CompareSearch {
  runs?: string[]
  metric?: string
}

/** Two episodes and the step at which both are shown. */
export interface CompareEpisodesSearch {
  a?: string
  b?: string
  step?: number
}

/** Read the address of the comparison of runs. */
export function readCompareSearch(raw: RawSearch): CompareSearch {
  return { runs: texts(raw.runs), metric: text(raw.metric) }
}

/** Read the address of the comparison of episodes. */
export function readCompareEpisodesSearch(raw: RawSearch): CompareEpisodesSearch {
  return { a: text(raw.a), b: text(raw.b), step: index(raw.step) }
}
