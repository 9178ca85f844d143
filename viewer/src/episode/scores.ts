/** The scores that a program tells at the end of an episode that it played. */

import { isObject } from '../renderers/talk'

/** A score as the program gave it; `value` is null where it is missing, and `missing` says why. */
export interface GivenScore {
  name: string
  value: number | null
  missing: string
  explanation: string
}

/** Return a list of scores; null for anything else. */
export function scoresOf(value: unknown): GivenScore[] | null {
  if (!Array.isArray(value) || value.length === 0) return null
  const scores = value.map(scoreOf)
  return scores.every((score) => score !== null) ? scores : null
}

function scoreOf(score: unknown): GivenScore | null {
  if (!isObject(score) || typeof score.name !== 'string' || !('value' in score)) return null
  const { name, value, missing, explanation } = score
  if (value !== null && typeof value !== 'number') return null
  return {
    name,
    value,
    missing: typeof missing === 'string' ? missing : '',
    explanation: typeof explanation === 'string' ? explanation : '',
  }
}
