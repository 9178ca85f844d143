/** Why episodes fail and scores are missing, in words. */

import { CAUSES } from './api/words'
import { capitalized } from './format'
import { lookOf } from './parts/look'

/** A cause in words: a short name, what happened, and what it means or what helps (empty for an unknown cause). */
interface CauseWords {
  name: string
  title: string
  advice: string
}

/** Return a cause in words. A cause that this page does not know is shown by its code. */
export function causeWords(cause: string): CauseWords {
  return lookOf<CauseWords>(CAUSES, cause) ?? unknown(cause)
}

/** Return what a failure means for the score. */
export function failureEffect(valid: boolean): string {
  return valid
    ? 'The agent caused this failure, so it counts as the worst score.'
    : 'The agent did not cause this failure, so the score is missing, not zero.'
}

function unknown(cause: string): CauseWords {
  const spelled = cause.replaceAll('_', ' ')
  const name = capitalized(spelled)
  return { name, title: name, advice: '' }
}
