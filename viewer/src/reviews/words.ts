/** The words of reviews. */
import type { Schema } from '../api/types'

/** What a person says of an answer. */
export type Answer = NonNullable<Schema<'VerdictInput'>['answer']>

/** What can be said of an answer, with its key. */
export const ANSWERS: readonly { value: Answer; title: string; short: string; key: string }[] = [
  { value: 'right', title: 'Right', short: 'Right', key: '1' },
  { value: 'wrong', title: 'Wrong', short: 'Wrong', key: '2' },
  { value: 'faulty', title: 'The question or its key is faulty', short: 'Faulty', key: '3' },
  { value: 'unsure', title: 'Cannot tell', short: 'Cannot tell', key: '4' },
]

/** What can be said of a grader, with its key. */
export const GRADER_WORDS: readonly { value: NonNullable<Schema<'VerdictInput'>['grader']>; key: string }[] = [
  { value: 'right', key: '1' },
  { value: 'wrong', key: '2' },
  { value: 'unsure', key: '3' },
]

/** One word for what a person says of an answer. */
export function answerWord(answer: Answer | null): string {
  return ANSWERS.find(({ value }) => value === answer)?.short ?? 'no verdict'
}

/** What a person said in one sentence: `answer Wrong, grader is right`. */
export function said(verdict: Schema<'VerdictDocument'>): string {
  if (verdict.withdrawn) return 'took the verdict back'
  const parts = [
    verdict.grader === null ? '' : `grader is ${verdict.grader}`,
    verdict.answer === null ? '' : `answer: ${answerWord(verdict.answer)}`,
  ].filter(Boolean)
  return `${parts.join(', ') || 'note'}${verdict.settles ? ' (settled)' : ''}`
}

/** The labels of a verdict as words. */
export function labelWords(labels: Record<string, boolean | number | string>): string[] {
  return Object.entries(labels)
    .filter(([, value]) => value !== false)
    .map(([name, value]) => (value === true ? name : `${name}: ${value}`))
}

/** About how long the rest takes, from what the last ones took; nothing before there are three. */
export function timeLeft(seconds: readonly number[], left: number): string | undefined {
  if (seconds.length < 3 || left < 1) return undefined
  const sorted = [...seconds].sort((a, b) => a - b)
  const each = Math.max(1, Math.round(sorted[Math.floor(sorted.length / 2)] ?? 0))
  const total = each * left
  const words = total < 90 ? `${total} s` : `${Math.round(total / 60)} min`
  return `about ${words} left at ${each} s each`
}

/** Whether something may be left to judge for the person. */
export function canReview(round: Schema<'RoundDocument'>): boolean {
  return round.may_judge && round.closed_at === null && round.complete < round.items && round.mine < round.items
}
