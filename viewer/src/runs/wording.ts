/** Words for runs of rollouts: there a benchmark is a dataset, and what drives the model is the rollout. */

import type { RunsSearch } from './search'

/** What a filter or a column is called where all runs are of rollouts; anything else keeps its name. */
const ROLLOUT: Record<string, string> = { benchmark: 'Dataset', agent: 'Rollout' }

/** Whether the list has only runs of rollouts, by its filters and the kinds that there are; others have no configuration. */
export function onlyRollouts(
  search: Pick<RunsSearch, 'kind' | 'configuration'>,
  known: readonly string[] = [],
): boolean {
  const kinds = search.kind ?? known
  return (kinds.length === 1 && kinds[0] === 'rollout') || search.configuration !== undefined
}

/** What these are called where runs of rollouts stand among others. */
const MIXED: Record<string, string> = { benchmark: 'Benchmark or dataset', agent: 'Agent or rollout' }

/** The name of a filter over runs of these kinds. */
export function filterTitle(id: string, title: string, kinds: readonly string[]): string {
  if (!kinds.includes('rollout')) return title
  return (kinds.length === 1 ? ROLLOUT : MIXED)[id] ?? title
}

/** The name of a column in a list of such runs. */
export function titleOf(id: string, title: string, rollouts: boolean): string {
  return (rollouts ? ROLLOUT[id] : undefined) ?? title
}
