import { Link } from '@tanstack/react-router'
import { Page } from './Page'

/** What an address shows that leads nowhere. */
export function NotFound() {
  return (
    <Page title="Page not found" note="There is no page at this URL. What it showed may have been deleted.">
      <p>
        <Link to="/">All runs</Link>
      </p>
    </Page>
  )
}
