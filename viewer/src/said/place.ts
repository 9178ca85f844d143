/** The places where something can be said. */
import type { Schema } from '../api/types'

export type Hit = Schema<'SearchHitDocument'>
export type Place = Hit['place']

export const PLACES: Record<Place, string> = {
  question: 'Question',
  reply: 'Reply',
  reasoning: 'Reasoning',
  call: 'Tool call',
  result: 'Tool result',
  observation: 'Observation',
  action: 'Action',
}

/** What one writes to search: a line for help. */
export const SYNTAX = '"exact words"  word*  -without  in:reply  tool:name'

const IN = /(?:^|\s)in:\S+/g

/** The text with one place to look in, or with none. */
export function within(text: string, place: Place | undefined): string {
  const plain = text.replace(IN, ' ').replace(/\s+/g, ' ').trim()
  return place === undefined ? plain : `${plain} in:${place}`
}

/** The one place that a text names, if it names just one. */
export function placeOf(text: string): Place | undefined {
  const named = text.match(IN) ?? []
  const word = named.length === 1 ? named[0]?.trim().slice(3) : undefined
  return word !== undefined && Object.hasOwn(PLACES, word) ? (word as Place) : undefined
}

/** What a text looks for as it would stand in an episode: its first quoted words, else its first word. */
export function wordsOf(text: string): string {
  const plain = text.replace(/(?:^|\s)(?:in|tool):\S+/g, ' ').replace(/(^|\s)-(?:"[^"]*"?|\S+)/g, '$1')
  const quoted = /"([^"]+)"/.exec(plain)?.[1]
  return (quoted ?? plain.trim().split(/\s+/)[0] ?? '').replace(/["*]/g, '').trim()
}
