import { Failure } from './Failure'
import { Page } from './Page'

/** What stands in place of a page that could not be shown. */
export function PageFailure({ error, reset }: { error: unknown; reset: () => void }) {
  return (
    <Page title="This page could not be shown">
      <Failure error={error} onRetry={reset} />
    </Page>
  )
}
