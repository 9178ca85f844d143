/** What a task's trials say, for its page. */

import type { Schema } from '../../api/types'
import { count, plural } from '../../format'

export type Task = Schema<'TaskDetail'>
export type Tried = Schema<'TriedDocument'>
export type Trial = Schema<'TaskTrial'>

/** How much a model varies between its own trials, against how much models differ. */
export function noiseWords({ repeated, mixed, tried }: Task): string {
  if (repeated === 0) return 'Nobody tried it more than once, so nothing is known of its noise.'
  const trials = tried.filter((one) => !one.builtin && one.trials > 1).reduce((sum, one) => sum + one.trials, 0)
  const who = `${plural(repeated, 'model')} tried it several times (${count(trials)} trials)`
  if (mixed === 0) return `${who}: each came out the same every time.`
  return `${who}: ${mixed === repeated ? (repeated === 1 ? 'it does' : 'all do') : `${count(mixed)} ${mixed === 1 ? 'does' : 'do'}`} not come out the same every time.`
}

/** The trials of equal settings, in the order of the API. */
export function trialsOf({ items }: Task, { group }: Tried): Trial[] {
  return items.filter((item) => item.group === group)
}

export interface AnswerGroup {
  given: string
  trials: Trial[]
  passed: number
}

/** The answers that were given, the most frequent first; trials without one are left out. */
export function answersOf({ items, tried }: Task): AnswerGroup[] {
  const builtin = new Set(tried.filter((one) => one.builtin).map(({ group }) => group))
  const found = new Map<string, AnswerGroup>()
  for (const trial of items) {
    if (trial.given === '' || builtin.has(trial.group)) continue
    const group = found.get(trial.given) ?? { given: trial.given, trials: [], passed: 0 }
    group.trials.push(trial)
    if (trial.verdict === 'passed') group.passed += 1
    found.set(trial.given, group)
  }
  return [...found.values()].sort((one, other) => other.trials.length - one.trials.length)
}

/** Two episodes worth holding against each other: one that passed and one that did not; else the first two. */
export function worthComparing({ items, tried }: Task): { a: string; b: string } | null {
  const builtin = new Set(tried.filter((one) => one.builtin).map(({ group }) => group))
  const models = items.filter(({ group }) => !builtin.has(group))
  const passed = models.find(({ verdict }) => verdict === 'passed')
  const not = models.find(({ verdict }) => verdict === 'not_passed')
  const [one, other] = passed !== undefined && not !== undefined ? [passed, not] : models
  return one === undefined || other === undefined ? null : { a: one.episode_id, b: other.episode_id }
}
