import { expect, test } from 'vitest'
import { rank } from './match'

function order(typed: string, labels: string[]): string[] {
  const found = labels.flatMap((label) => ({ label, at: rank(typed, label) ?? [] }))
  return found
    .filter(({ at }) => typeof at === 'number')
    .sort((one, other) => Number(other.at) - Number(one.at))
    .map(({ label }) => label)
}

test('whole words come before parts of words, and these before letters in order', () => {
  expect(order('run', ['Prune', 'Re-use now', 'Go to Runs', 'Run', 'Runs'])).toEqual([
    'Run',
    'Runs',
    'Go to Runs',
    'Prune',
    'Re-use now',
  ])
})

test('every word has to be found, in any order', () => {
  expect(order('175b gsm', ['GSM8K · 175b_finetuning', 'GSM8K · 6b_finetuning'])).toEqual(['GSM8K · 175b_finetuning'])
})

test('letters in order count from the start of a word and when they are near each other', () => {
  expect(order('gsm175', ['GSM8K 175b', 'Go to some models of 175'])).toEqual(['GSM8K 175b'])
  expect(rank('xyz', 'Runs')).toBeUndefined()
})
