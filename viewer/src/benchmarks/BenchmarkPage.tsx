import { Page } from '../parts/Page'

/** The Benchmark page. */
export function BenchmarkPage() {
  return <Page title="Benchmark" />
}
