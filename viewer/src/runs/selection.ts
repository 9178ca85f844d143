/** Which runs are selected. */

/** The selection with one run more or, when it was selected, less. The order is that of selecting. */
export function toggledRun(selected: readonly string[], id: string): string[] {
  return selected.includes(id) ? selected.filter((item) => item !== id) : [...selected, id]
}

/** The selection with everything between two rows of the list, as a click with Shift selects it. */
export function extended(selected: readonly string[], ids: readonly string[], from: string, to: string): string[] {
  const [start, end] = [ids.indexOf(from), ids.indexOf(to)]
  if (end < 0) return [...selected]
  if (start < 0) return selected.includes(to) ? [...selected] : [...selected, to]
  const between = ids.slice(Math.min(start, end), Math.max(start, end) + 1)
  return [...selected, ...between.filter((id) => !selected.includes(id))]
}

/** The selection with all of `ids`, or without them when all of them were selected. */
export function toggledAll(selected: readonly string[], ids: readonly string[]): string[] {
  const all = ids.length > 0 && ids.every((id) => selected.includes(id))
  if (all) return selected.filter((id) => !ids.includes(id))
  return [...selected, ...ids.filter((id) => !selected.includes(id))]
}
