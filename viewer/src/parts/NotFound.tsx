import { Link } from '@tanstack/react-router'
import { Page } from './Page'

/** What an address shows that leads nowhere. */
export function NotFound() {
  return (
    <Page title="Nothing here" note="This address belongs to no page; what it named may have been deleted.">
      <p>
        <Link to="/">All runs</Link>
      </p>
    </Page>
  )
}
