import { expect, it } from 'vitest'
import { toggledRun } from './selection'

it('selects and unselects one run', () => {
  expect(toggledRun(['a'], 'b')).toEqual(['a', 'b'])
  expect(toggledRun(['a', 'b'], 'a')).toEqual(['b'])
})
