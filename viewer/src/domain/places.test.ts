import { expect, it } from 'vitest'
import { agentWords, attemptWords, placeOf, placeWords, scaleOf } from './places'

const entry = (rank: number | null, last: number | null, reference: '' | 'floor' | 'ceiling' = '') => ({
  rank,
  rank_last: last,
  reference,
  tied: rank !== last,
  unranked: '',
  uncompared: 0,
})

it('writes places that are shared as a range', () => {
  expect(placeOf(entry(1, 1))).toBe('1')
  expect(placeOf(entry(2, 4))).toBe('2–4')
  expect(placeOf(entry(null, null))).toBe('–')
  expect(placeOf(entry(null, null, 'floor'))).toBe('floor')
})

it('says what a place means', () => {
  expect(placeWords(entry(2, 4))).toContain('ranks 2 to 4')
  expect(placeWords(entry(1, 1))).toBe('Rank 1')
  expect(placeWords({ ...entry(1, 3), uncompared: 1 })).toContain(
    'not comparable with 1 entry for other versions or rules',
  )
  expect(placeWords(entry(null, null, 'ceiling'))).toContain('not ranked')
})

it('draws all entries on one scale', () => {
  const metric = (value: number | null, low: number | null, high: number | null) =>
    ({ primary: { value, low, high } }) as Parameters<typeof scaleOf>[0][number]
  expect(scaleOf([metric(0.5, 0.4, 0.6)])).toEqual([0, 1])
  expect(scaleOf([metric(-3, -5, 2), metric(40, 30, 55), { primary: null }])).toEqual([-5, 55])
})

it('names what is special about an agent', () => {
  const plain = { custom_prompt: false, techniques: [], temperature: 0, max_tokens: 4096 }
  expect(agentWords(plain)).toBe('')
  expect(agentWords({ ...plain, custom_prompt: true, techniques: ['memory'], temperature: 0.7 })).toBe(
    'custom prompt, memory, temperature 0.7',
  )
})

it('says why somebody takes no place, and what became of attempts', () => {
  const attempts = { total: 3, finished: 1, going: 0, unfinished: 1, deleted: 1 }
  expect(placeWords({ ...entry(null, null), unranked: 'of 3 attempts 1 deleted' })).toBe(
    'Not ranked: of 3 attempts 1 deleted',
  )
  expect(attemptWords(attempts)).toBe('3 attempts with this model: 1 finished, 1 unfinished, 1 deleted')
  expect(attemptWords({ total: 1, finished: 0, going: 1, unfinished: 0, deleted: 0 })).toBe(
    '1 attempt with this model: 0 finished, 1 in progress',
  )
})
