import { expect, test } from 'vitest'
import { explain, verdict } from './causes'

test('causes are told in words, unknown ones by their name', () => {
  expect(explain('environment_error').title).toBe('The environment crashed')
  expect(explain('brand_new_cause').title).toBe('Brand new cause')
})

test('a missing score is never told as zero', () => {
  expect(verdict(false)).toContain('missing, not zero')
  expect(verdict(true)).toContain('worst')
})
