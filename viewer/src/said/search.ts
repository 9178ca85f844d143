/** What of the search page lives in its address. */
import { oneOf, type RawSearch, text, texts } from '../search'

const WHOSE = ['mine', 'team', 'workspace', 'public'] as const

/** What to find, and the filter of the runs to find it in. */
export interface SaidSearch {
  q?: string
  benchmark?: string[]
  model?: string[]
  tag?: string[]
  whose?: (typeof WHOSE)[number]
}

/** Read the address. */
export function readSaidSearch(raw: RawSearch): SaidSearch {
  const found: SaidSearch = {
    q: text(raw.q)?.slice(0, 1_000),
    benchmark: texts(raw.benchmark),
    model: texts(raw.model),
    tag: texts(raw.tag),
    whose: oneOf(raw.whose, WHOSE),
  }
  return Object.fromEntries(Object.entries(found).filter(([, value]) => value !== undefined))
}
