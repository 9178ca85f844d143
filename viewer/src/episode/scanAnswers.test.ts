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
    { name: 'cause', text: said, measured: true, step: '2' },
    { name: 'refuses', text: 'it is not JSON', measured: true, step: undefined },
  ])
  expect(scores.map(isScan)).toEqual([false, true, true])
})

test('an answer that does not count has no step, whatever it quotes', () => {
  const problem = "quote not found: step 2 does not say '· step 3 ·'"
  const missing = { ...score('scan:cause', problem), value: null, missing: 'grader_error' } as const

  expect(scanAnswers([missing])).toEqual([{ name: 'cause', text: problem, measured: false, step: undefined }])
})

test('an answer whose words are hidden was measured all the same', () => {
  expect(scanAnswers([score('scan:cause', '[redacted]')])[0]?.measured).toBe(true)
})
