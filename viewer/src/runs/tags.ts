/** Tags as people write them. */

/** The tags in a line of text: words between commas, without repetitions. */
export function readTags(text: string): string[] {
  return [...new Set(text.split(',').map((tag) => tag.trim()))].filter((tag) => tag !== '')
}

/** The tags of one run after adding some and taking some away, at most 50. */
export function changedTags(tags: readonly string[], added: readonly string[], removed: readonly string[]): string[] {
  const kept = tags.filter((tag) => !removed.includes(tag))
  return [...new Set([...kept, ...added])].slice(0, 50)
}

/** The tags that all of the runs have, and those that some of them have. */
export function commonTags(runs: readonly { tags: readonly string[] }[]): { all: string[]; some: string[] } {
  const counts = new Map<string, number>()
  for (const run of runs) for (const tag of new Set(run.tags)) counts.set(tag, (counts.get(tag) ?? 0) + 1)
  const all = [...counts].filter(([, count]) => count === runs.length).map(([tag]) => tag)
  const some = [...counts].filter(([, count]) => count < runs.length).map(([tag]) => tag)
  return { all, some }
}
