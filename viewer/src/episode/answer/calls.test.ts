import { describe, expect, it } from 'vitest'
import { callsIn, matchedCalls } from './calls'

const call = (name: string, given: Record<string, unknown>) => ({ name, arguments: given })

describe('calls', () => {
  it('are read from an answer', () => {
    expect(callsIn({ text: '', tool_calls: [{ name: 'f', arguments: { a: 1 } }] })).toEqual([call('f', { a: 1 })])
    expect(callsIn('no answer')).toBe(null)
  })

  it('are matched before their arguments', () => {
    const pairs = matchedCalls(
      [call('geo.area', { a: 1, unit: 'm' }), call('geo.area', { a: 2, unit: 'm' })],
      [call('geo_area', { a: 2, unit: 'm' }), call('geo_area', { a: 1 })],
    )
    expect(pairs.map(({ state }) => state)).toEqual(['changed', 'same'])
    expect(pairs[0]?.arguments).toEqual([
      { name: 'a', expected: 1, given: 1, state: 'same' },
      { name: 'unit', expected: 'm', state: 'missing' },
    ])
  })

  it('that nobody expects are extra, and those that were not made are missing', () => {
    const pairs = matchedCalls([call('f', {})], [call('g', { x: 1 })])
    expect(pairs.map(({ name, state }) => `${name} ${state}`)).toEqual(['f missing', 'g extra'])
  })

  it('are the same whatever the order of keys', () => {
    const [pair] = matchedCalls([call('f', { a: { x: 1, y: 2 } })], [call('f', { a: { y: 2, x: 1 } })])
    expect(pair?.state).toBe('same')
  })
})
