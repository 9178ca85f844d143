/** Looks and words for values of the API. A newer server may send values that this page does not know. */

/** The tooltip of an unknown value. */
export const UNKNOWN = 'Unknown to this version of the page; reload it'

/** Return the entry of a table for a value, or nothing for an unknown value. */
export function lookOf<Look>(looks: Readonly<Record<string, Look>>, word: string): Look | undefined {
  return Object.hasOwn(looks, word) ? looks[word] : undefined
}
