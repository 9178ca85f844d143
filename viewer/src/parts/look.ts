/** How words that a server uses are shown; a newer server may use words that this page does not know. */

/** What is said of a word that is shown as it is. */
export const UNKNOWN = 'this page is older than its server and does not know the word'

/** Return how a word is shown; nothing for one that is not known. */
export function lookOf<Look>(looks: Readonly<Record<string, Look>>, word: string): Look | undefined {
  return Object.hasOwn(looks, word) ? looks[word] : undefined
}
