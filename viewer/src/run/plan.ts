/** Rows of the episode table: episodes, and in the order of the plan also those that are still owed. */

import type { Schema } from '../api/paths'

export type Episode = Schema<'EpisodeSummary'>

/** A row: an episode, or the place of one in the plan that was not played yet. */
export type Row = { kind: 'episode'; index: number; episode: Episode } | { kind: 'owed'; index: number }

/** The rows `from`…`from + size − 1` of a plan of `planned` episodes, filled with what was found of them. */
export function planRows(found: readonly Episode[], from: number, size: number, planned: number): Row[] {
  const byIndex = new Map(found.map((episode) => [episode.index, episode]))
  const rows: Row[] = []
  for (let index = from; index < Math.min(from + size, planned); index++) {
    const episode = byIndex.get(index)
    rows.push(episode === undefined ? { kind: 'owed', index } : { kind: 'episode', index, episode })
  }
  return rows
}

/** The pages of `size` rows that hold the rows `first`…`last`. */
export function pagesOf(first: number, last: number, size: number): number[] {
  const pages: number[] = []
  for (let page = Math.floor(Math.max(first, 0) / size); page <= Math.floor(Math.max(last, 0) / size); page++)
    pages.push(page)
  return pages
}
