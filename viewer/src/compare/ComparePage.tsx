import { Page } from '../parts/Page'

/** The Compare page. */
export function ComparePage() {
  return <Page title="Compare" />
}
