/** Observations that are objects: their pictures, the actions that are legal, and their other fields. */

import { pictureOf } from './picture'
import { isObject } from './talk'

export interface Scene {
  pictures: { name: string; data: string }[]
  /** The legal actions as people would write them; null where the observation does not say. */
  legal: string[] | null
  rest: Record<string, unknown>
}

const LEGAL = 'legal_actions'
const MOST_FIELDS = 40
const SMALLEST = 60

/** Return the parts of an object that has a picture or says which actions are legal; null for anything else. */
export function sceneOf(data: unknown): Scene | null {
  if (!isObject(data) || Object.keys(data).length > MOST_FIELDS) return null
  const pictures: Scene['pictures'] = []
  const rest: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(data)) {
    if (name === LEGAL && legalOf(value)) continue
    if (isPicture(value)) pictures.push({ name, data: value })
    else rest[name] = value
  }
  const legal = legalOf(data[LEGAL])
  return pictures.length > 0 || legal !== null ? { pictures, legal, rest } : null
}

/** Return a list of actions as words; null if it is none. */
export function legalOf(value: unknown): string[] | null {
  if (!Array.isArray(value)) return null
  return value.map((action) => (typeof action === 'string' ? action : JSON.stringify(action)))
}

function isPicture(value: unknown): value is string {
  return typeof value === 'string' && value.length >= SMALLEST && pictureOf(value).kind === 'raster'
}
