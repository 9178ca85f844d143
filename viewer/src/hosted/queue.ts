/** The place of a run in the queue, in words. */
import type { Doc } from '../api/platform'

const ORDINALS = ['', 'next', 'second', 'third', 'fourth', 'fifth', 'sixth', 'seventh', 'eighth', 'ninth', 'tenth']

/** "third in the queue", "next in the queue"; what is known while it is not. */
export function placeWords(place: Pick<Doc<'QueuePlace'>, 'waiting' | 'position' | 'length'> | undefined): string {
  if (place === undefined) return 'in the queue'
  if (!place.waiting) return 'about to begin'
  if (place.position === null) return `in the queue, behind ${place.length - 1} others or fewer`
  if (place.position === 1) return 'next in the queue; it begins as soon as a worker is free'
  return `${ORDINALS[place.position] ?? `number ${place.position}`} in the queue`
}
