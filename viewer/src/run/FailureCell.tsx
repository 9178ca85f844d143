/** Why an episode failed, in one line. */

import { causeWords } from '../cause'
import { gist } from './gist'
import type { Episode } from './plan'

export function FailureCell({ failure }: { failure: Episode['failure'] }) {
  if (failure === null) return null
  return (
    <span data-full={failure.message.slice(0, 1_000)}>
      {causeWords(failure.cause).name} <span className="muted">{gist(failure.message)}</span>
    </span>
  )
}
