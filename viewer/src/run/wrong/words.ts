/** Wrong answers in words. */

import type { Schema } from '../../api/types'
import { count } from '../../format'
import { compact, type RunSearch } from '../search'

type Kind = Schema<'WrongKindDocument'>

const BEHAVIOURS: Record<string, string> = {
  refused: 'Refused',
  empty: 'Empty reply',
  cut_off: 'Cut off at the limit of tokens',
  looped: 'Repeated itself',
  malformed: 'No valid action',
  gave_up: 'Gave up',
}

/** What a behaviour is called. */
export function behaviourWords(behaviour: string): string {
  return BEHAVIOURS[behaviour] ?? behaviour
}

/** What a group of wrong answers is called. */
export function kindWords(by: string, value: string | null): string {
  if (value === null) return by === 'behaviour' ? 'Answered, but wrong' : by === 'mistake' ? 'No reason known' : 'None'
  if (by === 'behaviour') return behaviourWords(value)
  return by === 'trial' ? `Trial ${value}` : value || 'Empty'
}

/** The filter that shows the answers of a group; null where the table cannot tell them apart. */
export function kindFilter(by: string, value: string | null): Partial<RunSearch> | null {
  if (value === null) return null
  if (by === 'mistake') return { mistake: value }
  if (by === 'behaviour') return { behaviour: value }
  if (by === 'trial') return { label: `trial=${value}` }
  return by.startsWith('label:') ? { label: `${by.slice('label:'.length)}=${value}` } : null
}

/** The search with a group chosen, or without it when it was. */
export function chosenKind(search: RunSearch, by: string, value: string | null): RunSearch {
  const filter = kindFilter(by, value)
  if (filter === null) return search
  const rest = { ...search, mistake: undefined, behaviour: undefined, label: undefined, tab: undefined }
  return compact(
    isChosen(search, by, value) ? { ...rest, outcome: undefined } : { ...rest, ...filter, outcome: 'fail' },
  )
}

/** Whether the table shows this group. */
export function isChosen(search: RunSearch, by: string, value: string | null): boolean {
  const filter = kindFilter(by, value)
  if (filter === null || search.outcome !== 'fail') return false
  return Object.entries(filter).every(([name, wanted]) => search[name as keyof RunSearch] === wanted)
}

/** A share in percent with its interval: `24.3%`, `21.5–27.3`. */
export function shareWords({ value, low, high }: Kind['share']): { share: string; range: string } {
  const part = (share: number | null) => (100 * (share ?? 0)).toFixed(1)
  return { share: `${part(value)}%`, range: low === null || high === null ? '' : `${part(low)}–${part(high)}` }
}

/** The difference of two shares in points, and whether its interval leaves out 0. */
export function pointsWords(difference: Kind['difference']): { points: string; beyond: boolean; title: string } {
  if (difference?.value == null) return { points: '', beyond: false, title: '' }
  const points = (share: number) => `${share < 0 ? '−' : '+'}${Math.abs(100 * share).toFixed(1)}`
  const { value, low, high } = difference
  const beyond = low !== null && high !== null && (low > 0 || high < 0)
  const range = low === null || high === null ? '' : `${points(low)} to ${points(high)} points`
  return { points: points(value), beyond, title: `${range}${beyond ? '' : ': it can be chance'}` }
}

/** How many of how many. */
export function wrongNote({ wrong, measured }: Schema<'WrongAnswersDocument'>): string {
  return `${count(wrong)} of ${count(measured)}`
}
