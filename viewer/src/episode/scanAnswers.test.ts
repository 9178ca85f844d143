import { expect, test } from 'vitest'
import type { Schema } from '../api/types'
import { isScan, scanAnswers } from './ScanAnswers'

function score(name: string, explanation = ''): Schema<'ScoreDocument'> {
  return { name, value: 1, missing: null, worst: false, explanation } as Schema<'ScoreDocument'>
}

test('answers of scans are told once, whatever the number of their labels', () => {
  const said = 'slip · step 2 · “18”'
  const scores = [score('exact', 'right'), score('scan:cause.slip', said), score('scan:cause.misread', said)]

  expect(scanAnswers([...scores, score('scan:refuses', 'it is not JSON')])).toEqual([
    { name: 'cause', text: said },
    { name: 'refuses', text: 'it is not JSON' },
  ])
  expect(scores.map(isScan)).toEqual([false, true, true])
})
