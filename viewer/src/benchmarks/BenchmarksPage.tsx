import { Page } from '../parts/Page'

/** The Benchmarks page. */
export function BenchmarksPage() {
  return <Page title="Benchmarks" />
}
