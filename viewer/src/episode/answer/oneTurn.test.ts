import { expect, it } from 'vitest'
import type { Schema } from '../../api/types'
import { viewOf } from './oneTurn'

const asked = { question: '1 + 1?', steps: 1, run: { agent: 'chat', kind: 'native' } } as Schema<'EpisodeDetail'>

it('shows words that were found in the conversation of one turn, and a step in the timeline', () => {
  expect(viewOf(asked, {})).toBe('conversation')
  expect(viewOf(asked, { q: 'refuse', step: 1 })).toBe('conversation')
  expect(viewOf(asked, { step: 1 })).toBe('timeline')
  expect(viewOf(asked, { q: 'refuse', kind: ['log'] })).toBe('timeline')
  expect(viewOf(asked, { q: 'refuse', view: 'timeline' })).toBe('timeline')
})
