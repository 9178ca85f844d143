import { expect, test } from 'vitest'
import { hitOf } from './useHits'

test('a hit is shown with the words around it, wherever in the payload it is', () => {
  const payload = { data: { note: `${'before '.repeat(10)}the Needle in the haystack` } }
  const hit = hitOf({ seq: 7, step: 2, at: 0, kind: 'observation', payload }, 'needle')
  expect(hit).toMatchObject({ seq: 7, step: 2, kind: 'observation', found: 'Needle', after: ' in the haystack' })
  expect(hit.before.startsWith('…')).toBe(true)
})

test('names of fields and numbers are found as well', () => {
  const event = { seq: 0, step: 0, at: 0, kind: 'log', payload: { has_key: 1234 } }
  expect(hitOf(event, 'key')).toMatchObject({ before: 'has_', found: 'key' })
  expect(hitOf(event, '123')).toMatchObject({ found: '123', after: '4' })
})

test('a hit that cannot be placed shows the beginning of the event', () => {
  expect(hitOf({ seq: 0, step: 0, at: 0, kind: 'log', payload: { a: 1 } }, '{"a"')).toMatchObject({ found: '' })
})
