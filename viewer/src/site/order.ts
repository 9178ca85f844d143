/** Sorting and paging in the browser, as the API does it. */

/** What things are sorted by; what has none comes last. */
export type Rank = string | number | null

/** Sort a copy by `rank`, downwards when told so. What has no value comes last in both directions; equals keep `items`' order. */
export function sorted<T>(items: readonly T[], rank: (item: T) => Rank, down: boolean): T[] {
  const sign = down ? -1 : 1
  return [...items].sort((a, b) => {
    const [first, second] = [rank(a), rank(b)]
    if (first === null || second === null) return Number(first === null) - Number(second === null)
    return first < second ? -sign : first > second ? sign : 0
  })
}

/** A page of a list; its cursor is a place in it. */
export function pageOf<T>(
  items: readonly T[],
  cursor: string | null | undefined,
  limit: number,
): { items: T[]; cursor: string | null } {
  const start = Number(cursor ?? 0) || 0
  const end = start + limit
  return { items: items.slice(start, end), cursor: end < items.length ? String(end) : null }
}

/** Whether a filter takes a value: it takes any where none is named. */
export function takes(wanted: readonly string[] | undefined, value: string | null): boolean {
  return !wanted?.length || (value !== null && wanted.includes(value))
}
