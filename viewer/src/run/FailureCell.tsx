/** Why an episode failed, in one line. */

import { causeTitle } from './cause'
import type { Episode } from './plan'

export function FailureCell({ failure }: { failure: Episode['failure'] }) {
  if (failure === null) return null
  return (
    <span title={failure.message.slice(0, 1_000)}>
      {causeTitle(failure.cause)} <span className="muted">{failure.message.slice(0, 300)}</span>
    </span>
  )
}
