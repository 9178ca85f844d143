import { describe, expect, it } from 'vitest'
import type { Schema } from '../api/types'
import { bodiesOf, type Code, codeKey, codeLabel, draftOf, draftProblems, FRESH, placed, tagList } from './evaluation'

type Body = Schema<'RolloutInput'>

function draftBody(...given: Parameters<typeof bodiesOf>): Body {
  return bodiesOf(...given)[0]?.body as Body
}

const MAIN = { kind: 'commit', branch: 'main', commit: 'c'.repeat(40), snapshot: '', dirty: false } as Code
const UPLOAD = { ...MAIN, kind: 'upload', snapshot: 's1', dirty: true, author: 'ada' } as Code
const EVALUATION = {
  workspace: 'w1',
  configuration: 'configs/eval/sums.toml',
  config: { experiment: { rollout: 'sums' } },
  assignments: { 'experiment.model_path': 'openai/a', 'evaluation.n': 2, 'evaluation.pass_threshold': 0.5 },
  dataset_id: 'd1',
  dataset_version: 3,
  rows: '',
  limit: 10,
} as unknown as Schema<'EvaluationDocument'>
const EARLIER = { id: 'r1', request: { evaluation: EVALUATION } as Schema<'RunRequestDocument'> }
const CHOSEN = { ...FRESH, workspace: 'w1', code: 'branch:main', configuration: 'configs/eval/sums.toml' }

describe('a fresh form', () => {
  it('asks for what is needed', () => {
    expect(Object.keys(draftProblems(FRESH))).toEqual(['workspace', 'code', 'configuration'])
    expect(draftProblems(CHOSEN)).toEqual({})
  })

  it('tells what cannot be sent', () => {
    expect(draftProblems({ ...CHOSEN, choice: 'first', first: '0' }).first).toMatch('at least 1')
    expect(draftProblems({ ...CHOSEN, choice: 'chosen' }).rows).toMatch('3, 7')
    expect(draftProblems({ ...CHOSEN, trials: 'two' }).trials).toMatch('whole number')
    expect(draftProblems({ ...CHOSEN, models: Array.from({ length: 21 }, String) }).models).toMatch('20')
    expect(draftProblems({ ...CHOSEN, settings: 'nonsense' }).settings).toMatch('no setting')
  })

  it('leaves to the configuration what is not chosen', () => {
    const body = draftBody(CHOSEN, [MAIN])
    expect(body).toMatchObject({ branch: 'main', commit: MAIN.commit, assignments: {}, limit: null, dataset: '' })
    expect(body).not.toHaveProperty('from_run')
  })

  it('is sent once for each of several models, under names of their own', () => {
    const bodies = bodiesOf({ ...CHOSEN, models: ['openai/b', 'house/c:7'], name: 'try' }, [MAIN])
    expect(bodies.map(({ model, body }) => [model, (body as Body).name])).toEqual([
      ['openai/b', 'try-b'],
      ['house/c:7', 'try-c-7'],
    ])
    expect(bodiesOf(CHOSEN, [MAIN])).toHaveLength(1)
  })

  it('sends what is chosen', () => {
    const draft = { ...CHOSEN, models: ['openai/b'], trials: '3', settings: 'grader.use = exact', version: '2' }
    const body = draftBody({ ...draft, choice: 'chosen', rows: '1,3', tags: 'a, b,a' }, [MAIN])
    expect(body.assignments).toEqual({
      'grader.use': 'exact',
      'experiment.model_path': 'openai/b',
      'evaluation.n': 3,
    })
    expect(body).toMatchObject({ rows: '1,3', dataset_version: 2, tags: ['a', 'b'] })
    expect(draftBody({ ...draft, choice: 'all' }, [MAIN]).limit).toBe(0)
    expect(draftBody({ ...draft, choice: 'first', first: '5' }, [MAIN]).limit).toBe(5)
  })

  it('sends an upload by its id alone', () => {
    const body = draftBody({ ...CHOSEN, code: codeKey(UPLOAD) }, [MAIN, UPLOAD])
    expect(body).toMatchObject({ snapshot: 's1' })
    expect(body).not.toHaveProperty('branch')
    expect(codeLabel(UPLOAD)).toBe('upload of ccccccc with changes by ada')
  })
})

describe('a run again', () => {
  const draft = draftOf(EVALUATION, ['base'])

  it('begins with what it was submitted with', () => {
    expect(draft).toMatchObject({ models: ['openai/a'], trials: '2', choice: 'first', first: '10', tags: 'base' })
    expect(draft).toMatchObject({ code: 'same', dataset: 'd1', version: '3', name: '' })
    expect(draft.settings).toBe('evaluation.pass_threshold = 0.5')
  })

  it('repeats configuration and code as they were, without settings that were removed', () => {
    const body = draftBody({ ...draft, settings: '' }, [MAIN], EARLIER)
    expect(body).toMatchObject({ from_run: 'r1', config: EVALUATION.config, configuration: EVALUATION.configuration })
    expect(body.assignments).toEqual({ 'experiment.model_path': 'openai/a', 'evaluation.n': 2 })
    expect(body).not.toHaveProperty('commit')
  })

  it('with other code reads the configuration there', () => {
    const body = draftBody({ ...draft, code: 'branch:main' }, [MAIN], EARLIER)
    expect(body).toMatchObject({ branch: 'main', dataset_version: 3 })
    expect(body).not.toHaveProperty('from_run')
    expect(body).not.toHaveProperty('config')
  })
})

describe('what the server refuses', () => {
  it('stands at its field', () => {
    const told = placed(
      { 'experiment.model_path': 'unknown', 'evaluation.n': 'too many', 'rollout.name': 'bad' },
      CHOSEN,
    )
    expect(told).toEqual({ at: { models: 'unknown', trials: 'too many', name: 'bad' }, rest: [] })
  })

  it('stands at the settings if it is one of them', () => {
    const told = placed({ 'grader.use': 'unknown' }, { ...CHOSEN, settings: 'grader.use = x' })
    expect(told.at.settings).toBe('grader.use: unknown')
    expect(placed({ 'grader.use': 'unknown' }, CHOSEN).rest).toEqual(['grader.use: unknown'])
  })

  it('is told below the form if its field is not shown', () => {
    expect(placed({ rows: 'none' }, CHOSEN)).toEqual({ at: {}, rest: ['rows: none'] })
    expect(placed({ rows: 'none' }, { ...CHOSEN, choice: 'chosen' }).at.rows).toBe('none')
  })
})

it('reads tags', () => {
  expect(tagList(' a,, b , a')).toEqual(['a', 'b'])
})
