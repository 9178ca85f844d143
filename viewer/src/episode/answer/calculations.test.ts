import { describe, expect, it } from 'vitest'
import { alignedSteps, calculationsIn, withoutMarks } from './calculations'

const REFERENCE = 'She sells 16 - 3 - 4 = <<16-3-4=9>>9 duck eggs a day.\nShe makes 9 * 2 = $<<9*2=18>>18 every day.'

describe('calculations', () => {
  it('are read where a text marks them', () => {
    expect(calculationsIn(REFERENCE)).toEqual([
      { formula: '16 − 3 − 4', result: '9', of: 'duck eggs a day' },
      { formula: '9 × 2', result: '18', of: 'every day' },
    ])
    expect(calculationsIn('1 + 1 = 2')).toEqual([])
  })

  it('are compared by their results, in order', () => {
    const { steps, first } = alignedSteps(calculationsIn(REFERENCE), calculationsIn('<<16-7=9.0>>9 and <<9*3=27>>27'))
    expect(steps).toHaveLength(2)
    expect(first).toBe(2)
  })

  it('differ where one side has more of them', () => {
    expect(alignedSteps(calculationsIn(REFERENCE), calculationsIn('<<8+1=9>>9')).first).toBe(2)
  })

  it('leave the text readable', () => {
    expect(withoutMarks('16 - 3 = <<16-3=13>>13 eggs')).toBe('16 - 3 = 13 eggs')
  })
})
