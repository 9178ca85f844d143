/** What of the Benchmarks pages lives in their addresses. */
import { type RawSearch, text } from '../search'

/** The text that is looked for. */
interface BenchmarksSearch {
  q?: string
}

/** The model that is followed through the history. */
interface BenchmarkSearch {
  model?: string
}

/** Read the address of the catalogue. */
export function readBenchmarksSearch(raw: RawSearch): BenchmarksSearch {
  return { q: text(raw.q) }
}

/** Read the address of one benchmark. */
export function readBenchmarkSearch(raw: RawSearch): BenchmarkSearch {
  return { model: text(raw.model) }
}
