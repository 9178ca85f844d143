import { expect, test } from 'vitest'
import { filterTitle, onlyRollouts, titleOf } from './wording'

test('runs of rollouts have a dataset and a rollout', () => {
  expect(onlyRollouts({ kind: ['rollout'] })).toBe(true)
  expect(titleOf('benchmark', 'Benchmark', true)).toBe('Dataset')
  expect(titleOf('agent', 'Agent', true)).toBe('Rollout')
  expect(titleOf('model', 'Model', true)).toBe('Model')
})

test('a list with other runs in it keeps its words', () => {
  expect(onlyRollouts({ kind: ['rollout', 'environment'] })).toBe(false)
  expect(onlyRollouts({})).toBe(false)
  expect(onlyRollouts({}, ['rollout'])).toBe(true)
  expect(onlyRollouts({}, ['rollout', 'environment'])).toBe(false)
  expect(onlyRollouts({ kind: ['environment'] }, ['rollout'])).toBe(false)
  expect(onlyRollouts({ configuration: ['configs/eval/a.toml'] }, ['rollout', 'environment'])).toBe(true)
  expect(titleOf('benchmark', 'Benchmark', false)).toBe('Benchmark')
})

test('a filter is named for the kinds of runs that there are', () => {
  expect(filterTitle('benchmark', 'Benchmark', ['environment'])).toBe('Benchmark')
  expect(filterTitle('benchmark', 'Benchmark', ['rollout'])).toBe('Dataset')
  expect(filterTitle('agent', 'Agent', ['rollout', 'environment'])).toBe('Agent or rollout')
  expect(filterTitle('model', 'Model', ['rollout', 'environment'])).toBe('Model')
})
