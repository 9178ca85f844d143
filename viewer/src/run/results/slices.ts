/** The order of slices. */

import type { SliceKey, SliceSort } from '../search'
import type { Label, Slice } from './types'

const NUMBER_IN: Record<Exclude<SliceKey, 'value'>, (slice: Slice) => number | null> = {
  episodes: ({ episodes }) => episodes,
  reward: ({ reward }) => reward.value,
  pass_rate: ({ pass_rate }) => pass_rate?.value ?? null,
  failed: ({ failed }) => failed,
}

const BY_WORDS = new Intl.Collator('en', { numeric: true })

/** The slices in an order; those without the number stand last, whatever the direction. */
export function sortedSlices(slices: readonly Slice[], sort: SliceSort): Slice[] {
  const down = sort.startsWith('-')
  const key = sort.replace(/^-/, '') as SliceKey
  const words = (one: Slice, other: Slice) => BY_WORDS.compare(one.value ?? '', other.value ?? '')
  if (key === 'value') {
    const unnamed = (one: Slice) => Number(one.value === null)
    return [...slices].sort(
      (one, other) => unnamed(one) - unnamed(other) || (down ? words(other, one) : words(one, other)),
    )
  }
  const numberIn = NUMBER_IN[key]
  return [...slices].sort((one, other) => {
    const [a, b] = [numberIn(one), numberIn(other)]
    if (a === null || b === null) return a === b ? words(one, other) : a === null ? 1 : -1
    return (down ? b - a : a - b) || words(one, other)
  })
}

/** The order after a press on a column: words from A, numbers from the biggest, then the other way round. */
export function nextSliceSort(now: SliceSort, key: SliceKey): SliceSort {
  const first: SliceSort = key === 'value' ? key : `-${key}`
  const second: SliceSort = key === 'value' ? `-${key}` : key
  return now === first ? second : first
}

/** Ends of a scale that holds all rewards with their intervals; from 0 to 1 where they lie in it. */
export function rewardScale(slices: readonly Slice[]): readonly [number, number] {
  const values = slices.flatMap(({ reward: { value, low, high } }) => [value, low, high]).filter((one) => one !== null)
  return [Math.min(0, ...values), Math.max(1, ...values)]
}

/** What `slice` says for no label: the score as it is spread. */
export const SCORE = '*'

/**
 * The label that episodes are grouped by: the chosen one, else the first that puts several episodes into each group.
 * Trials are alike unless something is wrong, so they are only shown when asked for.
 */
export function groupedBy(labels: readonly Label[], chosen: string | undefined, episodes: number): string {
  if (chosen !== undefined) return chosen
  const own = labels.filter(({ name }) => name !== 'trial')
  return (own.find(({ values }) => values > 1 && values * 2 <= episodes) ?? own[0])?.name ?? SCORE
}
