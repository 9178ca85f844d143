import { describe, expect, it } from 'vitest'
import { faultsOf, inputOf, newRound } from './roundInput'

describe('a new round', () => {
  it('is complete with a run alone', () => {
    expect(faultsOf(newRound(['run']))).toEqual({})
    expect(inputOf(newRound(['run']), '')).toMatchObject({ runs: ['run'], sample: 40, reviews: 2, labels: null })
  })

  it('says which field is wrong', () => {
    const fields = { ...newRound([]), sample: '0', seed: 'x', reviews: '21' }
    expect(Object.keys(faultsOf(fields)).sort()).toEqual(['reviews', 'runs', 'sample', 'seed'])
  })

  it('draws all without a number', () => {
    expect(inputOf({ ...newRound(['run']), sample: ' ' }, '').sample).toBeNull()
  })

  it('gives each written cause a key of its own that the page does not use', () => {
    const written = Array.from({ length: 25 }, (_, at) => `cause ${at}`).join('\n')
    const [label] = inputOf({ ...newRound(['run']), labels: written }, '').labels ?? []
    const keys = (label?.options ?? []).map(({ key }) => key).filter(Boolean)
    expect(new Set(keys).size).toBe(keys.length)
    expect(keys.filter((key) => 'umsh1234.'.includes(key ?? ''))).toEqual([])
  })

  it('reads the guide by its words', () => {
    const guide = 'right: as the key\nWrong : anything else\nperhaps: no'
    expect(inputOf({ ...newRound(['run']), guide }, '').guide).toEqual({
      right: 'as the key',
      wrong: 'anything else',
    })
  })
})
