/** What the form of a new round holds, and the request that it makes. */
import type { Schema } from '../api/types'

/** The fields as they are written. */
export interface RoundFields {
  name: string
  runs: string[]
  outcome: 'all' | 'pass' | 'fail'
  sample: string
  seed: string
  order: Schema<'RoundInput'>['order']
  reviews: string
  labels: string
  guide: string
  blind: boolean
}

/** The fields of a new round. */
export function newRound(runs: readonly string[]): RoundFields {
  return {
    ...{ name: '', runs: [...runs], outcome: 'all', sample: '40', seed: '0', order: 'drawn' },
    ...{ reviews: '2', labels: '', guide: '', blind: true },
  }
}

const WHOLE = /^\d{1,9}$/

/** What is wrong with the fields, by their names. */
export function faultsOf(fields: RoundFields): Partial<Record<keyof RoundFields, string>> {
  const faults: Partial<Record<keyof RoundFields, string>> = {}
  if (fields.runs.length === 0) faults.runs = 'Choose a run.'
  const sample = fields.sample.trim()
  if (sample !== '' && !(WHOLE.test(sample) && Number(sample) >= 1 && Number(sample) <= 10_000)) {
    faults.sample = 'A number from 1 to 10,000, or nothing for all.'
  }
  if (!WHOLE.test(fields.seed.trim())) faults.seed = 'A whole number.'
  const reviews = Number(fields.reviews)
  if (!WHOLE.test(fields.reviews.trim()) || reviews < 1 || reviews > 20) faults.reviews = 'A number from 1 to 20.'
  return faults
}

const KEYS = 'qwertyuiopadfgjklzxcvbn'.replace(/[umsh]/g, '')

/** The labels: one choice of what went wrong first, of the lines that were written; null for the usual ones. */
function labelsOf(written: string): Schema<'ReviewLabel'>[] | null {
  const lines = [...new Set(written.split('\n').map((line) => line.trim()))].filter(Boolean)
  if (lines.length < 2) return null
  const options = lines.slice(0, 30).map((title, at) => ({
    ...{ value: title.slice(0, 100), title: title.slice(0, 200), key: KEYS[at] ?? '' },
  }))
  return [
    { ...{ name: 'cause', kind: 'choice', title: 'What went wrong first?', options, key: '' }, ...UNBOUNDED } as const,
  ]
}

const UNBOUNDED = { required: 'wrong', low: null, high: null } as const

/** The guide: lines such as `wrong: another number, or none`. */
function guideOf(written: string): Schema<'RoundInput'>['guide'] {
  const found: Schema<'RoundInput'>['guide'] = {}
  for (const line of written.split('\n')) {
    const [, answer, words] = /^\s*(right|wrong|faulty|unsure)\s*:\s*(.+)$/i.exec(line) ?? []
    if (answer && words) found[answer.toLowerCase() as 'right'] = words.slice(0, 1_000)
  }
  return found
}

/** The body of the request. */
export function inputOf(fields: RoundFields, reviewer: string): Schema<'RoundInput'> {
  const { outcome, sample, seed, order, blind } = fields
  return {
    name: fields.name.trim(),
    runs: fields.runs,
    filter: { state: [], cause: [], outcome: outcome === 'all' ? '' : outcome, label: '', q: '' },
    sample: sample.trim() === '' ? null : Number(sample),
    seed: Number(seed),
    order,
    reviews: Number(fields.reviews),
    labels: labelsOf(fields.labels),
    guide: guideOf(fields.guide),
    blind,
    bar: 0.6,
    reviewer,
  }
}
