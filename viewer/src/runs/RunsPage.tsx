import { Page } from '../parts/Page'

/** The Runs page. */
export function RunsPage() {
  return <Page title="Runs" />
}
