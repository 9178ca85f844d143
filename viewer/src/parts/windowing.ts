/** Which rows of a very long list are in view. */

/** Browsers end an element somewhere above 17 million pixels. */
const TALLEST = 15_000_000

/** Rows that are drawn beyond either edge of what is in view. */
const OVERSCAN = 5

/** What a scroll container shows. */
export interface View {
  /** First and last row to draw, both included; last is -1 when there are none. */
  first: number
  last: number
  /** Height of the whole list in pixels, as the browser gets to see it. */
  height: number
  /** Where the first drawn row stands, in pixels from the top of the list. */
  offset: number
}

/**
 * Rows in view of a list of `count` rows of `rowHeight` pixels scrolled to `top` in a window of `windowHeight`.
 * Lists taller than a browser can make an element are scrolled faster: the scroll position maps onto the rows linearly.
 */
export function view(count: number, rowHeight: number, top: number, windowHeight: number, overscan = OVERSCAN): View {
  const full = count * rowHeight
  const height = Math.min(full, TALLEST)
  const range = Math.max(1, height - windowHeight)
  const at = full > height ? (Math.min(top, range) / range) * (full - windowHeight) : top
  const first = Math.max(0, Math.min(count - 1, Math.floor(at / rowHeight) - overscan))
  const last = Math.min(count - 1, Math.ceil((at + windowHeight) / rowHeight) + overscan)
  return { first, last, height, offset: top - at + first * rowHeight }
}

/** The most rows that are drawn at once in a window of `windowHeight`. */
export function drawn(rowHeight: number, windowHeight: number): number {
  return Math.ceil(windowHeight / rowHeight) + 2 * OVERSCAN + 2
}

/** The scroll position at which a row is fully in view, as near as possible to the one now. */
export function reveal(index: number, count: number, rowHeight: number, top: number, windowHeight: number): number {
  const full = count * rowHeight
  const height = Math.min(full, TALLEST)
  const scale = full > height ? (full - windowHeight) / Math.max(1, height - windowHeight) : 1
  const at = top * scale
  const start = index * rowHeight
  if (start < at) return start / scale
  if (start + rowHeight > at + windowHeight) return (start + rowHeight - windowHeight) / scale
  return top
}
