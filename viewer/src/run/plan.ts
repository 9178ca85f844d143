/** Rows of the episode table: episodes, and in the order of the plan also those that are still owed. */

import type { Schema } from '../api/types'

export type Episode = Schema<'EpisodeSummary'>

/** A row: an episode, or the place of one in the plan that was not played yet. */
export type Row = { kind: 'episode'; index: number; episode: Episode } | { kind: 'owed'; index: number }

const known = new WeakMap<readonly Episode[], ReadonlyMap<number, Episode>>()

/** Episodes by their place in the plan; worked out once for each list. */
function byIndex(found: readonly Episode[]): ReadonlyMap<number, Episode> {
  let map = known.get(found)
  if (map === undefined) {
    map = new Map(found.map((episode) => [episode.index, episode]))
    known.set(found, map)
  }
  return map
}

/** The row at a place in the plan, of which everything that was played around there is in `found`. */
export function planRow(found: readonly Episode[], index: number): Row {
  const episode = byIndex(found).get(index)
  return episode === undefined ? { kind: 'owed', index } : { kind: 'episode', index, episode }
}

/** Whether two rows show the same. */
export function sameRow(one: Row, other: Row): boolean {
  if (one.kind === 'owed' || other.kind === 'owed') return one.kind === other.kind && one.index === other.index
  return one.episode === other.episode
}

/** The pages of `size` rows that hold the rows `first`…`last`. */
export function pagesOf(first: number, last: number, size: number): number[] {
  const pages: number[] = []
  for (let page = Math.floor(Math.max(first, 0) / size); page <= Math.floor(Math.max(last, 0) / size); page++)
    pages.push(page)
  return pages
}
