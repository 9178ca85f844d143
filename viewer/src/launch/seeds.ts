/** Seeds as people write them: `0, 3, 10-14`. */

const MOST = 1_000

/** Read seeds; nothing when none were written. Throws an Error with words for the field. */
export function readSeeds(text: string): number[] | null {
  const parts = text.split(/[\s,;]+/).filter(Boolean)
  if (parts.length === 0) return null
  const seeds = parts.flatMap(readPart)
  if (seeds.length > MOST) throw new Error(`${seeds.length} seeds are too many for one run.`)
  if (new Set(seeds).size < seeds.length) throw new Error('A seed occurs twice. Use trials to repeat seeds.')
  return seeds
}

function readPart(part: string): number[] {
  const range = /^(\d+)(?:-|\.\.)(\d+)$/.exec(part)
  if (range) {
    const [from, to] = [Number(range[1]), Number(range[2])]
    if (to < from || to - from >= MOST) throw new Error(`${part} is not a valid range of seeds.`)
    return Array.from({ length: to - from + 1 }, (_one, place) => from + place)
  }
  if (!/^-?\d+$/.test(part) || !Number.isSafeInteger(Number(part))) {
    throw new Error(`${part} is not a whole number. Enter seeds as 0, 3, 10-14.`)
  }
  return [Number(part)]
}
