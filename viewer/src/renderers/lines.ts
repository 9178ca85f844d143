/** Long text cut into lines that can be shown one by one without laying out the whole. */

const PIECE = 240

interface LineIndex {
  /** Where each shown line begins; the last entry is the end of the text. */
  starts: number[]
  /** The number of the source line of each shown line, from 1 on; 0 where a long line goes on. */
  numbers: number[]
  /** Whether the text has more lines than were looked at. */
  more: boolean
}

/** Return where the lines of the text begin; lines longer than `width` go on in a next one. At most `limit` lines. */
export function lineIndex(text: string, width = PIECE, limit = 200_000): LineIndex {
  const starts: number[] = []
  const numbers: number[] = []
  let at = 0
  let number = 1
  while (at < text.length && starts.length < limit) {
    const newline = text.indexOf('\n', at)
    const end = newline < 0 ? text.length : newline
    let first = true
    do {
      starts.push(at)
      numbers.push(first ? number : 0)
      first = false
      const next = Math.min(at + width, end)
      at = next < end && isHigh(text.charCodeAt(next - 1)) ? next - 1 : next
    } while (at < end && starts.length < limit)
    if (at >= end) {
      at = newline < 0 ? text.length : newline + 1
      number += 1
    }
  }
  if (!starts.length) {
    starts.push(0)
    numbers.push(1)
  }
  const more = at < text.length
  starts.push(at)
  return { starts, numbers, more }
}

/** Return the text of one shown line without its line feed. */
export function lineAt(text: string, index: LineIndex, line: number): string {
  const part = text.slice(index.starts[line] ?? 0, index.starts[line + 1] ?? text.length)
  return part.endsWith('\n') ? part.slice(0, -1) : part
}

/** Return how many lines the text has, counting no further than `limit`. */
export function countLines(text: string, limit = 100_000): number {
  let found = 1
  for (let at = text.indexOf('\n'); at >= 0 && found < limit; at = text.indexOf('\n', at + 1)) found += 1
  return text.endsWith('\n') && found > 1 ? found - 1 : found
}

/** Return a beginning of the text with at most `lines` lines and `characters` characters. */
export function head(text: string, lines: number, characters: number): string {
  let end = -1
  for (let n = 0; n < lines; n++) {
    end = text.indexOf('\n', end + 1)
    if (end < 0) break
  }
  const stop = Math.min(end < 0 ? text.length : end, characters)
  return text.slice(0, stop < text.length && isHigh(text.charCodeAt(stop - 1)) ? stop - 1 : stop)
}

/** Return an end of the text with at most `lines` lines and `characters` characters. */
export function tail(text: string, lines: number, characters: number): string {
  const trimmed = text.trimEnd()
  let start = trimmed.length
  for (let n = 0; n < lines && start >= 0; n++) start = start > 0 ? trimmed.lastIndexOf('\n', start - 1) : -1
  const from = Math.max(start + 1, trimmed.length - characters)
  return trimmed.slice(from > 0 && isHigh(trimmed.charCodeAt(from - 1)) ? from + 1 : from)
}

function isHigh(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff
}
