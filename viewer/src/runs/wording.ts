/** Words for runs of rollouts: there a benchmark is a dataset, and what drives the model is the rollout. */

import type { RunsSearch } from './search'

/** What a filter or a column is called where all runs are of rollouts; anything else keeps its name. */
const ROLLOUT: Record<string, string> = { benchmark: 'Dataset', agent: 'Rollout' }

/** Whether the list is limited to runs of rollouts. */
export function onlyRollouts({ kind }: Pick<RunsSearch, 'kind'>): boolean {
  return kind?.length === 1 && kind[0] === 'rollout'
}

/** The name of a filter or a column in a list of such runs. */
export function titleOf(id: string, title: string, rollouts: boolean): string {
  return (rollouts ? ROLLOUT[id] : undefined) ?? title
}
