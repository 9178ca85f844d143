import { describe, expect, it } from 'vitest'
import { rangeWords, vowWords } from './vow'

describe('vowWords', () => {
  it('reads the contract of an environment', () => {
    const words = vowWords({
      description: 'Walk.',
      action_space: { type: 'discrete', enum_values: ['up', 'down'], description: 'a step' },
      observation_space: { type: 'image', dtype: 'uint8', shape: [64, 64, 3], bounds: { low: 0, high: 255 } },
      reward: { type: 'scalar', range: { low: -1, high: 1 }, description: 'the flag' },
      episode: {
        max_steps: 60,
        deterministic_reset: true,
        supports_seed: true,
        parallel_episodes: 16,
        observability: 'full',
      },
      techniques: [{ technique_id: 'memory', required: false }],
    })
    expect(words?.action).toMatchObject({ kind: 'one of a list', choices: ['up', 'down'], description: 'a step' })
    expect(words?.observation?.limits).toBe('64 × 64 × 3, uint8, 0 to 255')
    expect(words?.reward).toEqual({ kind: 'a number after every step', range: '-1 to 1', description: 'the flag' })
    expect(words?.episode).toEqual([
      'at most 60 steps',
      'the seed determines the start',
      'up to 16 in parallel',
      'fully observable',
    ])
    expect(words?.techniques).toEqual([{ name: 'memory', required: false, options: null }])
  })

  it('shows the spaces inside a space', () => {
    const words = vowWords({ action_space: { fields: { move: { type: 'text' }, say: { type: 'text' } } } })
    expect(words?.action?.inside.map(({ name }) => name)).toEqual(['move', 'say'])
  })

  it('reads a schema that is written as text', () => {
    expect(vowWords({ action_space: { type: 'json', schema_ref: '{"a":1}' } })?.action?.schema).toEqual({ a: 1 })
    expect(vowWords({ action_space: { type: 'json', schema_ref: '{' } })?.action?.schema).toBe('{')
  })

  it('is nothing where there is no vow, and survives any shape', () => {
    expect(vowWords(undefined)).toBe(null)
    expect(vowWords('x')).toBe(null)
    expect(() => vowWords({ action_space: 4, reward: [], episode: null, techniques: [null, 3] })).not.toThrow()
  })
})

describe('rangeWords', () => {
  it('knows open ends', () => {
    expect([rangeWords(0, 1), rangeWords(0, null), rangeWords(null, 1), rangeWords(null, null)]).toEqual([
      '0 to 1',
      'at least 0',
      'at most 1',
      '',
    ])
  })
})
