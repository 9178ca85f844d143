import { expect, it } from 'vitest'
import { clip } from './clip'

it('leaves short text alone and ends long text with an ellipsis', () => {
  expect(clip('short')).toBe('short')
  expect(clip('abcdef', 3)).toBe('abc…')
})
