/** Questions that are asked by how probable each continuation of a text is. */

import { isObject } from './talk'

export interface Choices {
  context: string
  continuations: string[]
}

/** How probable a continuation is: the sum over its tokens, and whether each of them was the most probable one. */
export interface Likelihood {
  logprob: number
  greedy: boolean
}

/** Return the text and its continuations; null for anything else. */
export function choicesOf(data: unknown): Choices | null {
  if (!isObject(data) || Object.keys(data).length !== 2) return null
  const { context, continuations } = data
  if (typeof context !== 'string' || !Array.isArray(continuations) || continuations.length === 0) return null
  return continuations.every((one) => typeof one === 'string') ? { context, continuations } : null
}

/** Return the likelihood of each continuation from `[[[logprob, greedy]], …]`; null for anything else. */
export function likelihoodsOf(responses: unknown): Likelihood[] | null {
  if (!Array.isArray(responses) || responses.length === 0) return null
  const found = responses.map((one) => {
    const [logprob, greedy] = Array.isArray(one) && one.length === 1 && Array.isArray(one[0]) ? one[0] : []
    return typeof logprob === 'number' && typeof greedy === 'boolean' ? { logprob, greedy } : null
  })
  return found.every((one) => one !== null) ? found : null
}

/** Return the place of the most probable one. */
export function mostProbable(likelihoods: readonly Likelihood[]): number {
  return likelihoods.reduce((best, { logprob }, at) => (logprob > (likelihoods[best]?.logprob ?? 0) ? at : best), 0)
}
