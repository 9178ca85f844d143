/** Tasks of two runs side by side: which of them are listed, and who did better in each. */

import { plural } from '../format'
import type { Shown } from './CompareSearch'
import type { Direction, Pair, TaskPair } from './CompareVerdict'

type Side = 'a' | 'b' | 'same' | 'unknown'

/** Which run did better in a task; without a direction, which one is higher. */
export function betterIn(task: TaskPair, direction: Direction): Side {
  if (task.a === null || task.b === null) return 'unknown'
  if (task.a === task.b) return 'same'
  return task.b > task.a === (direction ?? true) ? 'b' : 'a'
}

/** The tasks that are listed, flipped ones and largest differences first, as they came. */
export function shownTasks(tasks: readonly TaskPair[], shown: Shown, direction: Direction): TaskPair[] {
  if (shown === 'all') return [...tasks]
  if (shown === 'flipped') return tasks.filter((task) => task.flipped)
  return tasks.filter((task) => betterIn(task, direction) === shown)
}

/** How many tasks each choice of the list has, of all tasks and not only of those that came along. */
export function shownCounts(pair: Pair): Record<Shown, number> {
  const { a_better, b_better, same, flipped, only_a, only_b } = pair.counts
  return { flipped, a: a_better, b: b_better, all: a_better + b_better + same + only_a + only_b }
}

/** A stretch of the win/loss strip. */
interface Stretch {
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

/** A place of the plane of both runs' values, and how many tasks lie there. */
export interface Place {
  x: number
  y: number
  n: number
  /** The task, where there is only one. */
  label: string
  tone?: 'better' | 'worse'
}

/** Places of the tasks: single ones with their names when all tasks are known, else cells of them. */
export function placesOf(pair: Pair, direction: Direction): Place[] {
  const { a_better, same, b_better } = pair.counts
  const scored = pair.tasks.filter((task) => task.a !== null && task.b !== null)
  const tone = (a: number, b: number): Place['tone'] =>
    a === b || direction === null ? undefined : b > a === direction ? 'better' : 'worse'
  if (scored.length < a_better + same + b_better) {
    return pair.density.map(({ a, b, n }) => ({ x: a, y: b, n, label: '', tone: tone(a, b) }))
  }
  const places = new Map<string, Place>()
  for (const { a, b, task_id } of scored) {
    if (a === null || b === null) continue
    const known = places.get(`${a} ${b}`)
    const n = (known?.n ?? 0) + 1
    places.set(`${a} ${b}`, { x: a, y: b, n, label: known ? '' : task_id.slice(0, 100), tone: tone(a, b) })
  }
  return [...places.values()]
}

/** Whether every task was passed (1) or failed (0) in both runs. */
export function isBinary(pair: Pair): boolean {
  return pair.density.every(({ a, b }) => (a === 0 || a === 1) && (b === 0 || b === 1))
}

/** Tasks that only one run has scored, in words; empty when there are none. */
export function onlyWords({ counts }: Pair, a: string, b: string): string {
  const parts = [
    counts.only_a > 0 ? `${plural(counts.only_a, 'task')} only in ${a}` : '',
    counts.only_b > 0 ? `${plural(counts.only_b, 'task')} only in ${b}` : '',
  ].filter(Boolean)
  return parts.length === 0 ? '' : `Not compared because the other run has no score: ${parts.join(', ')}.`
}
