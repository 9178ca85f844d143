/** Where the pages of a list begin, as far as it was read: cursors only lead forward. */

/** The beginnings of the pages of one query. */
export interface Beginnings {
  /** The query. */
  key: string
  /** The cursor of each page that can be read; the first page has none. */
  cursors: readonly (string | null)[]
  /** Rows on the last page of the list, once it was read. */
  rest: number | null
}

/** What is known before anything was read. */
export function unread(key: string): Beginnings {
  return { key, cursors: [null], rest: null }
}

/** What is known after reading a page that holds `rows` rows and leads on to `cursor`. */
export function afterPage(known: Beginnings, page: number, rows: number, cursor: string | null): Beginnings {
  if (page >= known.cursors.length) return known
  if (cursor === null) {
    if (page === known.cursors.length - 1 && known.rest === rows) return known
    return { ...known, cursors: known.cursors.slice(0, page + 1), rest: rows }
  }
  if (known.cursors[page + 1] === cursor) return known
  return { ...known, cursors: [...known.cursors.slice(0, page + 1), cursor], rest: null }
}

/** Rows that can be scrolled to: the pages that were read, and the page that follows them when there is one. */
export function rowsKnown(known: Beginnings, size: number): number {
  const full = known.cursors.length - 1
  return full * size + (known.rest ?? size)
}

/** The last row to hold so that everything read so far stays and, when `further`, one more page is read. */
export function lastOfWhole(rows: number, size: number, further: boolean): number {
  return rows - 1 - (further ? size : 2 * size)
}

/** The pages to hold for the rows `first`…`last`: the first page always, and one more on either side. */
export function pagesNear(first: number, last: number, size: number, pages: number): number[] {
  const from = Math.max(Math.floor(first / size) - 1, 0)
  const to = Math.min(Math.floor(Math.max(last, 0) / size) + 1, pages - 1)
  const near = [0]
  for (let page = Math.max(from, 1); page <= to; page++) near.push(page)
  return near
}
