import { Page } from '../parts/Page'

/** The Episode page. */
export function EpisodePage() {
  return <Page title="Episode" />
}
