import { describe, expect, it } from 'vitest'
import { parameterWords } from './parameters'

const PARAMETER = {
  name: 'limit',
  type: 'integer',
  help: 'so many problems',
  default: null,
  choices: [],
  minimum: 1,
  maximum: null,
  aliases: ['max'],
  sampling: true,
}

describe('parameterWords', () => {
  it('says bounds, other names and what sets it', () => {
    expect(parameterWords(PARAMETER)).toEqual({
      type: 'integer, at least 1',
      usual: '',
      meaning: 'so many problems',
      more: 'Aliases: max. Set with --max-examples.',
    })
  })

  it('writes defaults as --extra takes them', () => {
    expect(parameterWords({ ...PARAMETER, default: ['a'] }).usual).toBe('["a"]')
    expect(parameterWords({ ...PARAMETER, default: false }).usual).toBe('false')
    expect(parameterWords({ ...PARAMETER, default: 'docker' }).usual).toBe('docker')
  })
})
