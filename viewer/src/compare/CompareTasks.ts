/** Tasks of two runs side by side: which of them are listed, and who did better in each. */

import type { Shown } from './CompareSearch'
import type { Pair, TaskPair } from './CompareVerdict'

export type Side = 'a' | 'b' | 'same' | 'unknown'

/** Which run did better in a task. */
export function betterIn(task: TaskPair, higherIsBetter: boolean): Side {
  if (task.a === null || task.b === null) return 'unknown'
  if (task.a === task.b) return 'same'
  return task.b > task.a === higherIsBetter ? 'b' : 'a'
}

/** The tasks that are listed, flipped ones and largest differences first, as they came. */
export function shownTasks(tasks: readonly TaskPair[], shown: Shown, higherIsBetter: boolean): TaskPair[] {
  if (shown === 'all') return [...tasks]
  if (shown === 'flipped') return tasks.filter((task) => task.flipped)
  return tasks.filter((task) => betterIn(task, higherIsBetter) === shown)
}

/** How many tasks each choice of the list has, of all tasks and not only of those that came along. */
export function shownCounts(pair: Pair): Record<Shown, number> {
  const { a_better, b_better, same, flipped, only_a, only_b } = pair.counts
  return { flipped, a: a_better, b: b_better, all: a_better + b_better + same + only_a + only_b }
}

/** A stretch of the win/loss strip. */
export interface Stretch {
  side: 'a' | 'same' | 'b'
  count: number
  /** Its part of all tasks that both runs have scored, 0…1. */
  share: number
}

/** The win/loss strip: where the baseline did better, where both did the same, where the other one did better. */
export function stripOf(pair: Pair): Stretch[] {
  const { a_better, same, b_better } = pair.counts
  const total = a_better + same + b_better
  const stretches: [Stretch['side'], number][] = [
    ['a', a_better],
    ['same', same],
    ['b', b_better],
  ]
  return stretches.map(([side, count]) => ({ side, count, share: total === 0 ? 0 : count / total }))
}
