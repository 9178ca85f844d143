import { describe, expect, it } from 'vitest'
import type { Schema } from '../api/types'
import { changesBetween, changeWords } from './changes'

type Run = Parameters<typeof changesBetween>[0]

const EVALUATION = {
  branch: 'main',
  commit: 'c90d3e4aaaaaaaaaa',
  message: 'Retry once',
  dirty: false,
  snapshot: 's1',
  rollout: 'sums',
  dataset: 'hard',
  dataset_id: 'd1',
  dataset_version: 1,
  rows: '',
  limit: null,
  config: { experiment: { model_path: 'm', dataset: 'hard' }, evaluation: { n: 1 }, secrets: { required: ['KEY'] } },
  assignments: {},
} as unknown as Schema<'EvaluationDocument'>

function run(change: Partial<Schema<'EvaluationDocument'>> = {}, model = 'm'): Run {
  return { model, request: { evaluation: { ...EVALUATION, ...change } } as Run['request'] }
}

describe('changesBetween', () => {
  it('finds nothing between equal runs', () => {
    expect(changesBetween(run(), run())).toEqual([])
    expect(changeWords([])).toBe('nothing')
  })

  it('names another commit with its message, and not one with the same files', () => {
    const later = { commit: 'f27ab06bbbb', message: 'Shorten', snapshot: 's2' }
    expect(changesBetween(run(), run(later))).toEqual([
      { name: 'Code', short: 'code', before: 'main c90d3e4 Retry once', after: 'main f27ab06 Shorten' },
    ])
    expect(changesBetween(run(), run({ ...later, snapshot: 's1' }))).toEqual([])
  })

  it('tells what was uploaded from what was committed', () => {
    const upload = { commit: '', branch: '', message: '', snapshot: 's2' }
    expect(changesBetween(run(), run(upload))[0]?.after).toBe('an upload')
    expect(changesBetween(run(), run({ dirty: true, snapshot: 's3' }))[0]?.after).toBe(
      'main c90d3e4 with changes Retry once',
    )
  })

  it('names the version of a dataset, and the model', () => {
    const found = changesBetween(run(), run({ dataset_version: 2 }, 'other'))
    expect(found.map(({ name, before, after }) => [name, before, after])).toEqual([
      ['Dataset', 'hard version 1', 'hard version 2'],
      ['Model', 'm', 'other'],
    ])
    expect(changeWords(found)).toBe('dataset v2, model')
  })

  it('compares settings as they took effect', () => {
    const found = changesBetween(run(), run({ assignments: { 'evaluation.n': 3, 'experiment.model_path': 'x' } }))
    expect(found).toEqual([{ name: 'evaluation.n', short: 'n', before: '1', after: '3' }])
    expect(
      changesBetween(run({ assignments: { 'evaluation.n': 3 } }), run({ config: { evaluation: { n: 3 } } })),
    ).toEqual([{ name: 'secrets.required', short: 'required', before: '["KEY"]', after: '' }])
  })

  it('counts what is too much for a list', () => {
    const many = { evaluation: { a: 1, b: 2, c: 3, d: 4, e: 5 } }
    expect(changeWords(changesBetween(run({ config: {} }), run({ config: many })))).toBe('a, b, c and 2 more settings')
  })

  it('finds nothing where the settings are not shown', () => {
    expect(changesBetween(run(), { model: 'x', request: null })).toEqual([])
  })
})
