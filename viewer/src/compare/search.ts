/** What of the Compare pages lives in their addresses. */
import { index, type RawSearch, text } from '../search'

export { type CompareSearch, readCompareSearch } from './CompareSearch'

/** Two episodes and the step at which both are shown. */
export interface CompareEpisodesSearch {
  a?: string
  b?: string
  step?: number
}

/** Read the address of the comparison of episodes. */
export function readCompareEpisodesSearch(raw: RawSearch): CompareEpisodesSearch {
  return { a: text(raw.a), b: text(raw.b), step: index(raw.step) }
}
