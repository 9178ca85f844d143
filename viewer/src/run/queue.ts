import type { Schema } from '../api/types'

/** The place of a run in the queue, in words. */

const ORDINALS = ['', 'next', 'second', 'third', 'fourth', 'fifth', 'sixth', 'seventh', 'eighth', 'ninth', 'tenth']

/** "third in the queue", "next in the queue"; what is known while it is not. */
export function placeWords(place: Pick<Schema<'QueuePlace'>, 'waiting' | 'position' | 'length'> | undefined): string {
  if (place === undefined) return 'in the queue'
  if (!place.waiting) return 'starting'
  if (place.position === null) return `queued, at most ${place.length - 1} runs ahead`
  if (place.position === 1) return 'next in the queue; starts as soon as a worker is free'
  return `${ORDINALS[place.position] ?? `number ${place.position}`} in the queue`
}
