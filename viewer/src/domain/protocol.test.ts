import { expect, it } from 'vitest'
import { termProblems, termsBody, USUAL } from './protocol'

it('terms that are left as they are can be sent', () => {
  expect(termProblems(USUAL)).toEqual({})
  expect(termsBody(USUAL)).toEqual({
    episodes: 20,
    trials: 1,
    max_steps: null,
    temperature: 0,
    max_tokens: 4096,
    on_malformed: 'auto',
  })
})

it.each([
  [{ episodes: '0' }, 'episodes'],
  [{ trials: '1.5' }, 'trials'],
  [{ max_steps: 'many' }, 'max_steps'],
  [{ temperature: '' }, 'temperature'],
  [{ temperature: '3' }, 'temperature'],
  [{ max_tokens: '-1' }, 'max_tokens'],
])('what no protocol can say is told at its field: %o', (given, field) => {
  expect(Object.keys(termProblems({ ...USUAL, ...given }))).toEqual([field])
})
