import { expect, test } from 'vitest'
import { faultOf, nameOf } from './fileName'

test.each([
  ['hard.jsonl', 'hard'],
  ['a.b.csv', 'a.b'],
  ['.csv', '.csv'],
  ['plain', 'plain'],
])('%s is named %s', (file, name) => {
  expect(nameOf(file)).toBe(name)
})

test('files that can be a dataset have no fault', () => {
  for (const name of ['a.csv', 'B.JSONL', 'c.ndjson', 'd.parquet']) expect(faultOf({ name, size: 1 })).toBeUndefined()
})

test('other files say what is wrong', () => {
  expect(faultOf(undefined)).toBe('Choose a file.')
  expect(faultOf({ name: 'a.xlsx', size: 1 })).toContain('CSV, JSONL or Parquet')
  expect(faultOf({ name: 'a.csv.gz', size: 1 })).toContain('CSV, JSONL or Parquet')
  expect(faultOf({ name: 'a.csv', size: 0 })).toContain('empty')
})
