/** Which runs are selected. */

/** The selection with one run more or, when it was selected, less. The order is that of selecting. */
export function toggledRun(selected: readonly string[], id: string): string[] {
  return selected.includes(id) ? selected.filter((item) => item !== id) : [...selected, id]
}
