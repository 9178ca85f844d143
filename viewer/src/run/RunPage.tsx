import { Page } from '../parts/Page'

/** The Run page. */
export function RunPage() {
  return <Page title="Run" />
}
