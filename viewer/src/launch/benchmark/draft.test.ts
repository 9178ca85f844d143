import { expect, test } from 'vitest'
import type { Schema } from '../../api/types'
import { nameOf, submitAll, totalOf } from '../runs'
import { bodiesOf, draftProblems, FRESH, GENERAL, settable, valueIn } from './draft'

const PARAMETERS = [
  { ...GENERAL[0], name: 'data_path', type: 'path' },
  { ...GENERAL[0], name: 'limit', type: 'integer', sampling: true },
  { ...GENERAL[0], name: 'seed', type: 'integer' },
] as Schema<'ParameterDocument'>[]
const DRAFT = { ...FRESH, benchmark: 'gsm8k', models: ['openai/a', 'house/b:7'] }

test('a run is sent for each model, with what was typed as values', () => {
  const settings = { seed: '3', data_path: 'dataset:gsm8k', temperature: '0.5' }
  const [first, second] = bodiesOf(
    { ...DRAFT, tasks: '200', stop: '1.5', settings, name: 'try-{model}' },
    PARAMETERS,
  ).map(({ body }) => body as Schema<'BenchmarkInput'>)
  expect(first).toMatchObject({ model: 'openai/a', max_examples: 200, run_usd: 1.5, parallel: 32, name: 'try-a' })
  expect(first?.parameters).toEqual({ seed: 3, data_path: 'dataset:gsm8k', temperature: 0.5 })
  expect(second).toMatchObject({ model: 'house/b:7', name: 'try-b-7', trials: null })
})

test('what cannot be sent is told at its field', () => {
  const problems = draftProblems({ ...FRESH, tasks: '0', stop: 'much', settings: { seed: 'x' } }, settable(PARAMETERS))
  expect(Object.keys(problems).sort()).toEqual(['benchmark', 'models', 'settings.seed', 'stop', 'tasks'])
  expect(draftProblems(DRAFT, settable(PARAMETERS))).toEqual({})
})

test('the number of tasks has a field of its own, and every benchmark takes settings of the model', () => {
  const names = settable(PARAMETERS).map(({ name }) => name)
  expect(names).toEqual(['data_path', 'seed', 'temperature', 'max_tokens', 'top_p', 'reasoning_effort'])
})

test('a text is read as the type of its parameter', () => {
  const of = (type: string, text: string) => valueIn({ ...GENERAL[0], type } as Schema<'ParameterDocument'>, text)
  expect([of('integer', '1.5'), of('number', '1.5'), of('boolean', 'true'), of('text', '7')]).toEqual([
    undefined,
    1.5,
    true,
    '7',
  ])
  expect([of('list', '[1]'), of('list', '{}'), of('object', '{"a":1}'), of('object', 'null')]).toEqual([
    [1],
    undefined,
    { a: 1 },
    undefined,
  ])
})

test('what is unknown is not counted as nothing', () => {
  const run = { refused: '', episodes: 5, tokens: null, seconds: null } as unknown as Schema<'RunForecast'>
  const known = { ...run, tokens: { value: 70, low: 1, high: 99 }, seconds: { value: 3, low: 2, high: 4 } }
  const sum = (...runs: Schema<'RunForecast'>[]) => totalOf({ runs } as Schema<'Forecast'>)
  expect(sum(run)).toEqual({ episodes: 5, tokens: null, seconds: null, refused: 0 })
  expect(sum(run, known, { ...run, refused: 'no' })).toEqual({ episodes: 10, tokens: 70, seconds: 3, refused: 1 })
})

test('a refused run does not keep the others', async () => {
  const bodies = bodiesOf(DRAFT, [])
  const found = await submitAll(bodies, async ({ model }) => {
    if (model === 'openai/a') throw new Error('the budget is used up')
    return { id: 'run-1' }
  })
  expect(found).toEqual({
    runs: [{ model: 'house/b:7', id: 'run-1' }],
    refused: [{ model: 'openai/a', why: 'the budget is used up' }],
  })
})

test('several runs of one name are told apart by their models', () => {
  expect(nameOf(' try ', 'house/b:7', true)).toBe('try-b-7')
  expect(nameOf('try', 'house/b:7', false)).toBe('try')
  expect(nameOf('{model} once', 'house/b:7', true)).toBe('b-7 once')
  expect(nameOf('', 'house/b:7', true)).toBe('')
})
