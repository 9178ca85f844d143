/** What of the Compare pages lives in their addresses. */
import { index, type RawSearch, text } from '../search'

export { type CompareSearch, readCompareSearch } from './CompareSearch'

/** Two episodes, the row of their alignment that is open, and whether only rows that differ are listed. */
export interface CompareEpisodesSearch {
  a?: string
  b?: string
  step?: number
  only?: boolean
}

/** Read the address of the comparison of episodes. */
export function readCompareEpisodesSearch(raw: RawSearch): CompareEpisodesSearch {
  return {
    a: text(raw.a),
    b: text(raw.b),
    step: index(raw.step),
    only: raw.only === true || raw.only === 'true' || undefined,
  }
}
