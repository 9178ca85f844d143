import { describe, expect, it } from 'vitest'
import { knobWords } from './knobs'

const KNOB = {
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

describe('knobWords', () => {
  it('says bounds, other names and what sets it', () => {
    expect(knobWords(KNOB)).toEqual({
      type: 'integer, at least 1',
      usual: '',
      meaning: 'so many problems',
      more: 'Also max. Set by --max-examples.',
    })
  })

  it('writes defaults as --extra takes them', () => {
    expect(knobWords({ ...KNOB, default: ['a'] }).usual).toBe('["a"]')
    expect(knobWords({ ...KNOB, default: false }).usual).toBe('false')
    expect(knobWords({ ...KNOB, default: 'docker' }).usual).toBe('docker')
  })
})
