/** What a reviewer is about to say of an item. */
import type { Schema } from '../api/types'
import type { Answer } from './words'

type Label = Schema<'ReviewLabel'>
type Values = Schema<'VerdictInput'>['labels']

/** A verdict that is not saved yet. */
export interface Draft {
  answer?: Answer
  labels: NonNullable<Values>
  note: string
  step: string
}

/** Nothing said yet. */
export const EMPTY: Draft = { labels: {}, note: '', step: '' }

/** Whether a label must be given with this answer. */
export function isRequired(label: Label, answer: Answer | undefined): boolean {
  return label.required === 'always' || (label.required === 'wrong' && answer === 'wrong')
}

/** What is missing before it can be saved; nothing if nothing is. */
export function missing(draft: Draft, labels: readonly Label[]): string | undefined {
  if (draft.answer === undefined) return 'Choose a verdict first.'
  const lacking = labels.find((label) => isRequired(label, draft.answer) && draft.labels[label.name] === undefined)
  return lacking && `Answer “${lacking.title || lacking.name}” first.`
}

/** The draft with a label set, or, when it has that value already, without it. */
export function toggled(draft: Draft, name: string, value: boolean | number | string): Draft {
  const { [name]: before, ...rest } = draft.labels
  return { ...draft, labels: before === value ? rest : { ...rest, [name]: value } }
}

/** A key of a label, and the value that it sets. */
interface LabelKey {
  key: string
  name: string
  value: boolean | string
}

/** What each key of the labels does. */
export function keysOf(labels: readonly Label[]): LabelKey[] {
  return labels.flatMap(({ kind, name, key: own, options }): LabelKey[] => {
    if (kind === 'choice') return (options ?? []).flatMap(({ key, value }) => (key ? [{ key, name, value }] : []))
    return kind === 'flag' && own ? [{ key: own, name, value: true }] : []
  })
}

/** The body of the request. */
export function inputOf(draft: Draft, reviewer: string, settles = false): Schema<'VerdictInput'> {
  const { answer, labels, note, step } = draft
  return { answer: answer ?? null, labels, note, step, settles, reviewer }
}
