import { expect, it } from 'vitest'
import { asked, isGrouped } from './grouping'

it('groups short lists unless a person decided', () => {
  expect(isGrouped({}, 500)).toBe(true)
  expect(isGrouped({}, 501)).toBe(false)
  expect(isGrouped({}, undefined)).toBe(false)
  expect(isGrouped({ by: 'none' }, 5)).toBe(false)
  expect(isGrouped({ by: 'benchmark' }, 100_000)).toBe(true)
})

it('asks for a long list in the order of its groups', () => {
  expect(asked({ by: 'benchmark', sort: '-score' }, 501).sort).toBe('-benchmark')
  expect(asked({ by: 'benchmark', sort: '-score' }, 500).sort).toBe('-score')
  expect(asked({ sort: '-score' }, 501).sort).toBe('-score')
})
