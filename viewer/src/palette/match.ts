/** How well a text that was typed fits what a thing is called. */

/** From here on only its letters are in order, which is a guess. */
const SUBSEQUENCE = 50

/** A number that is higher the better `typed` fits `label`; nothing if one of its words is not found. */
export function rank(typed: string, label: string): number | undefined {
  const within = label.toLowerCase()
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean)
  let sum = 0
  for (const word of words) {
    const found = wordRank(word, within)
    if (found === undefined) return undefined
    sum += found
  }
  // Of equal fits the clearly shorter label is the closer one.
  return words.length === 0 ? 0 : sum / words.length - Math.floor(Math.min(label.length, 200) / 20) / 5
}

function wordRank(word: string, within: string): number | undefined {
  if (within === word) return 100
  if (within.startsWith(word)) return 90
  for (let at = within.indexOf(word); at >= 0; at = within.indexOf(word, at + 1)) {
    if (!/[\p{L}\p{N}]/u.test(within[at - 1] ?? '')) return 80
  }
  if (within.includes(word)) return 60
  const span = spanOf(word, within)
  return span === undefined || word.length < 2 || span > word.length * 3
    ? undefined
    : (SUBSEQUENCE * word.length) / span
}

/** Over how many characters the letters of a word are spread, from the start of a word on. */
function spanOf(word: string, within: string): number | undefined {
  let best: number | undefined
  for (const { index } of within.matchAll(/[\p{L}\p{N}]+/gu)) {
    if (within[index] !== word[0]) continue
    let at = index
    for (const letter of word) {
      const found = within.indexOf(letter, at)
      if (found < 0) return best
      at = found + 1
    }
    best = Math.min(best ?? Number.POSITIVE_INFINITY, at - index)
  }
  return best
}
