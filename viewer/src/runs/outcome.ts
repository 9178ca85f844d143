/** The episodes of a run by outcome: passed, not passed, error, missing. */
import { count, percent } from '../format'
import type { IconName } from '../parts/Icon'
import type { Run } from './page'

/** One outcome, how it is called and drawn. */
export interface Outcome {
  id: 'passed' | 'not_passed' | 'errors' | 'missing'
  word: string
  icon: IconName
}

export const OUTCOMES: readonly Outcome[] = [
  { id: 'passed', word: 'passed', icon: 'check' },
  { id: 'not_passed', word: 'not passed', icon: 'close' },
  { id: 'errors', word: 'error', icon: 'warning' },
  { id: 'missing', word: 'missing', icon: 'dash' },
]

/** An outcome with its episodes; `share` is of all that have one, 0…1. */
export interface Part extends Outcome {
  n: number
  share: number
}

/** The outcomes that there are, in the order in which they are drawn. */
export function parts({ counts }: Pick<Run, 'counts'>): Part[] {
  const total = OUTCOMES.reduce((sum, { id }) => sum + counts[id], 0)
  return OUTCOMES.filter(({ id }) => counts[id] > 0).map((outcome) => ({
    ...outcome,
    n: counts[outcome.id],
    share: counts[outcome.id] / total,
  }))
}

/** The outcomes in words: `95 passed (95%), 5 not passed (5%)`; a number before its share. */
export function outcomeWords(run: Pick<Run, 'counts' | 'bins' | 'primary'>): string {
  if (run.bins != null) {
    const { errors, missing } = run.counts
    const more = [errors > 0 && `${count(errors)} error`, missing > 0 && `${count(missing)} missing`]
    return [`${count(run.bins.counts.reduce((sum, n) => sum + n, 0))} scores`, ...more].filter(Boolean).join(', ')
  }
  const words = parts(run).map(({ n, word, share }) => `${count(n)} ${word} (${percent(share)})`)
  return words.join(', ') || 'no episode has an outcome'
}
