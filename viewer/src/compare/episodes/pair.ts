/** Two episodes of a task aligned: which rows there are, where they differ, and what they are called. */

import type { Schema } from '../../api/types'
import { count } from '../../format'

export type EpisodePair = Schema<'EpisodePairDocument'>
export type AlignedStep = Schema<'AlignedStepDocument'>
export type Move = Schema<'MoveDocument'>
type Episode = Schema<'EpisodeDetail'>

export type Side = 'a' | 'b'

/** The row of the first difference, which the server found; the last row where nothing differs. */
export function firstRow({ first, steps }: EpisodePair): number {
  const found = steps.findIndex(
    ({ a, b, change }) => change !== 'same' && first !== null && (a?.number === first || b?.number === first),
  )
  return found >= 0 ? found : steps.length - 1
}

/** The next row that differs, or the one before in the other direction; null where there is none. */
export function nextDifference(steps: readonly AlignedStep[], from: number, by: 1 | -1): number | null {
  for (let row = from + by; row >= 0 && row < steps.length; row += by) if (steps[row]?.change !== 'same') return row
  return null
}

/** The rows of the table: all, or those that differ. */
export function rowsShown(steps: readonly AlignedStep[], only: boolean): number[] {
  const rows = steps.map((_, row) => row)
  return only ? rows.filter((row) => steps[row]?.change !== 'same') : rows
}

/**
 * The step of an episode at a row, and whether it is of this row: where it has no counterpart to the other one's, at the
 * first difference the step that it took instead, else the last one before, in whose state it stood.
 */
export function moveAt(pair: EpisodePair, row: number, side: Side): { move: Move | null; here: boolean } {
  const own = pair.steps[row]?.[side] ?? null
  if (own !== null) return { move: own, here: true }
  if (row === firstRow(pair)) {
    const instead = pair.steps.slice(row).find((step) => step[side] !== null)?.[side]
    if (instead?.number === pair.first) return { move: instead, here: true }
  }
  for (let before = row - 1; before >= 0; before--) {
    const move = pair.steps[before]?.[side]
    if (move) return { move, here: false }
  }
  return { move: null, here: false }
}

/** Whether an episode is over at a row: it has no step there or after. */
export function isOver(steps: readonly AlignedStep[], row: number, side: Side): boolean {
  return steps.slice(row).every((step) => step[side] === null)
}

/** The last step of an episode. */
export function lastMove({ steps }: EpisodePair, side: Side): Move | null {
  for (let row = steps.length - 1; row >= 0; row--) {
    const move = steps[row]?.[side]
    if (move) return move
  }
  return null
}

/** Whether both are one question with one reply each. */
export function isOneReply({ steps }: EpisodePair): boolean {
  return steps.length <= 2
}

/** What the two are called: by their models; by their names, settings or trials where the models are the same. */
export function namesOf(a: Episode, b: Episode): [string, string] {
  const ways: ((episode: Episode) => string)[] = [
    ({ run }) => run.title.model,
    ({ run }) => run.name,
    ({ run }) => `${run.title.model}, ${run.title.differs}`,
    ({ trial }) => `trial ${trial + 1}`,
  ]
  for (const way of ways) {
    const [one, other] = [way(a).trim(), way(b).trim()]
    if (one !== '' && other !== '' && one !== other) return [one, other]
  }
  return ['A', 'B']
}

/** Both outcomes in one line. */
export function outcomeWords([a, b]: [string, string], one: Episode, other: Episode): string {
  const [x, y] = [one.verdict, other.verdict]
  if (x === 'passed' && y === 'passed') return 'both passed'
  if (x === 'not_passed' && y === 'not_passed') return 'neither passed'
  if (x === 'passed' && y === 'not_passed') return `${a} passed, ${b} did not`
  if (x === 'not_passed' && y === 'passed') return `${b} passed, ${a} did not`
  return `${a} and ${b}`
}

/** What a row shows, in words. */
export const CHANGES: Record<AlignedStep['change'], { sign: string; words: string }> = {
  same: { sign: '=', words: 'the same' },
  effect: { sign: '≈', words: 'the same action, something else came of it' },
  action: { sign: '≠', words: 'another action' },
  only_a: { sign: '·', words: 'only A has it' },
  only_b: { sign: '·', words: 'only B has it' },
}

/** What a row is called. */
export function rowTitle({ by }: EpisodePair, { a, b }: AlignedStep): string {
  const number = a?.number ?? b?.number ?? 0
  const unit = by === 'call' ? 'Call' : 'Step'
  if (number === 0) return 'Start'
  if (a === null || b === null || a.number === b.number) return `${unit} ${count(number)}`
  return `${unit} ${count(a.number)} of A, ${count(b.number)} of B`
}

/** The tasks that flipped and have both episodes, and the place of this one among them; -1 if it is none. */
export function flipsOf(
  tasks: readonly Schema<'TaskPairDocument'>[],
  digest: string,
): { flips: { digest: string; a: string; b: string }[]; at: number } {
  const flips = tasks.flatMap(({ flipped, episode_a, episode_b, task_digest }) =>
    flipped && episode_a !== null && episode_b !== null ? [{ digest: task_digest, a: episode_a, b: episode_b }] : [],
  )
  return { flips, at: flips.findIndex((flip) => flip.digest === digest) }
}

/** What a task is called; a number alone says nothing. */
export function taskName(id: string): string {
  return /^\d+$/.test(id) ? `Task ${id}` : id
}
