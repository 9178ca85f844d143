import { Page } from '../parts/Page'

/** The Episodes page. */
export function CompareEpisodesPage() {
  return <Page title="Episodes" />
}
