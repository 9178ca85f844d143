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
const MOST_FLAT = 12
const LONGEST = 120

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

/** Whether an object is a few short values, which are read faster on a line than as a tree. */
export function isFlat(data: unknown): data is Record<string, unknown> {
  if (!isObject(data)) return false
  const values = Object.values(data)
  return values.length > 0 && values.length <= MOST_FLAT && values.every(isShort)
}

/** Whether a value stands on a line: a number, a short text, a short list of these. */
export function isShort(value: unknown): boolean {
  if (typeof value === 'string') return value.length <= LONGEST && !value.includes('\n')
  if (Array.isArray(value)) return value.every((one) => !isNested(one)) && JSON.stringify(value).length <= LONGEST
  return !isObject(value)
}

function isNested(value: unknown): boolean {
  return typeof value === 'object' && value !== null
}

/** Return a list of actions as words; null if it is none. */
export function legalOf(value: unknown): string[] | null {
  if (!Array.isArray(value)) return null
  return value.map((action) => (typeof action === 'string' ? action : JSON.stringify(action)))
}

function isPicture(value: unknown): value is string {
  return typeof value === 'string' && value.length >= SMALLEST && pictureOf(value).kind === 'raster'
}
