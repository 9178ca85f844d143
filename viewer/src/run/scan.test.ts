import { expect, test } from 'vitest'
import { NO_SCAN, scanInput } from './scan'

test('words are sent only with the kind of answer that has them, and what is left empty limits nothing', () => {
  const asked = { ...NO_SCAN, question: ' Why? ', model: 'house/tiny', labels: 'slip, ,misread' }
  expect(scanInput(asked)).toMatchObject({ question: 'Why?', answers: [], number: false, where: [], limit: null })
  expect(scanInput({ ...asked, kind: 'labels', where: 'wrong', limit: '20', budget: '0.5' })).toMatchObject({
    answers: ['slip', 'misread'],
    where: ['wrong'],
    limit: 20,
    budget_usd: 0.5,
  })
})

test('what is no number is not taken for no limit', () => {
  expect(scanInput({ ...NO_SCAN, limit: 'ten', budget: '0' })).toMatchObject({ limit: 'ten', budget_usd: '0' })
})
