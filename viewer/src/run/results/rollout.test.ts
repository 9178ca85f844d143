import { describe, expect, it } from 'vitest'
import type { Schema } from '../../api/types'
import { failure, run } from '../examples'
import { filterOfCause, shownTab, thresholdOf, unitOf } from './rollout'

const rollout = run({ kind: 'rollout', failures: [failure({ cause: 'workflow_failed' })] })

describe('the tab', () => {
  it('of a rollout is its results, until samples are asked for', () => {
    expect(shownTab(rollout, {})).toBe('results')
    expect(shownTab(rollout, { slice: 'difficulty' })).toBe('results')
    expect(shownTab(rollout, { cause: ['workflow_failed'] })).toBe('samples')
    expect(shownTab(rollout, { tab: 'charts', cause: ['workflow_failed'] })).toBe('charts')
  })

  it('with output is that of a run whose programs printed to a server', () => {
    const request = { kind: 'rollout', redacted: false } as Schema<'RunRequestDocument'>
    expect(shownTab(run({ kind: 'rollout', request }), { tab: 'output' })).toBe('output')
    expect(shownTab(rollout, { tab: 'output' })).toBe('results')
    expect(shownTab(run(), { tab: 'output' })).toBe('episodes')
  })

  it('of another run is never one that it does not have', () => {
    expect(shownTab(run(), {})).toBe('episodes')
    expect(shownTab(run(), { tab: 'results' })).toBe('episodes')
    expect(shownTab(run(), { tab: 'samples' })).toBe('episodes')
  })
})

it('samples are what rollouts play', () => {
  expect(unitOf(rollout)).toBe('sample')
  expect(unitOf(run())).toBe('episode')
})

it('the threshold is that of the inclusive pass rate', () => {
  const metrics = [{ name: 'reward' }, { name: 'pass_rate', aggregation: 'pass_rate', threshold: 0.5, inclusive: true }]
  expect(thresholdOf({ info: { metrics } })).toBe(0.5)
  expect(thresholdOf({ info: { metrics: [{ aggregation: 'pass_rate', threshold: 0.5 }] } })).toBeNull()
  expect(thresholdOf({ info: {} })).toBeNull()
})

it('a cause that no episode failed of is looked for among those without a score', () => {
  expect(filterOfCause(rollout, 'workflow_failed')).toEqual({ cause: ['workflow_failed'] })
  expect(filterOfCause(rollout, 'grader_error')).toEqual({ outcome: 'missing' })
})
