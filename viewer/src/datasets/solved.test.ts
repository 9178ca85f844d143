import { expect, test } from 'vitest'
import { solvedRows, solvedWords } from './solved'

const episode = (row: string, verdict: 'passed' | 'not_passed' | 'error' | null) => ({
  task_id: row,
  task_digest: `d${row}`,
  verdict,
})

test('a row is solved by a model that gets it right at least half of the time', () => {
  const rows = solvedRows([
    {
      model: 'a',
      benchmark: 'b',
      episodes: [episode('0', 'passed'), episode('0', 'not_passed'), episode('1', 'error')],
    },
    {
      model: 'c',
      benchmark: 'b',
      episodes: [episode('0', 'not_passed'), episode('1', 'not_passed'), episode('2', null)],
    },
  ])
  expect(rows.get('0')).toEqual({
    benchmark: 'b',
    task: 'd0',
    models: [
      { name: 'a', solved: true },
      { name: 'c', solved: false },
    ],
  })
  expect(rows.get('1')?.models).toEqual([{ name: 'c', solved: false }])
  expect(rows.has('2')).toBe(false)
})

test('words say what a row tells models apart by, where there are several', () => {
  const of = (...solved: boolean[]) =>
    solvedWords({ benchmark: 'b', task: 'd', models: solved.map((one) => ({ name: 'm', solved: one })) })
  expect([of(true), of(true, true), of(false, false), of(true, false)]).toEqual([
    '',
    'solved by all',
    'solved by none',
    'flips',
  ])
})
