/** What of the Episode page lives in its address. */
import { index, type RawSearch, text } from '../search'

/** The step that is shown and the text that is looked for. */
export interface EpisodeSearch {
  step?: number
  q?: string
}

/** Read the address. */
export function readEpisodeSearch(raw: RawSearch): EpisodeSearch {
  return { step: index(raw.step), q: text(raw.q) }
}
