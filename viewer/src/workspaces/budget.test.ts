import { expect, it } from 'vitest'
import { budgetOf } from './budget'

it('reads an amount, the default, and nothing else', () => {
  expect(['25', ' $0.50 ', '', '0'].map(budgetOf)).toEqual([25, 0.5, null, 0])
  expect(['-1', '1e3', '1,5', 'much', 'Infinity'].map(budgetOf)).toEqual(Array(5).fill(undefined))
})
