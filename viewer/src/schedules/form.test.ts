import { describe, expect, it } from 'vitest'
import { faultsOf, fieldsOf, inputOf } from './form'

const NIGHTLY = { ...fieldsOf(), name: 'nightly', configuration: 'configs/eval/a.toml', timezone: 'UTC' }

describe('the form of a schedule', () => {
  it('begins with a time of the day in the own time zone', () => {
    expect(fieldsOf()).toMatchObject({ trigger: 'cron', cron: '0 3 * * *' })
  })

  it('makes a request without what was left empty', () => {
    expect(inputOf(NIGHTLY).overrides).toEqual({ limit: null, model: null, tags: [] })
    expect(inputOf({ ...NIGHTLY, limit: '20', model: ' openai/x ', tags: 'a, b ,,' }).overrides).toEqual({
      limit: 20,
      model: 'openai/x',
      tags: ['a', 'b'],
    })
  })

  it('sends no times for syncs', () => {
    expect(inputOf({ ...NIGHTLY, trigger: 'sync' })).toMatchObject({ trigger: 'sync', cron: '', timezone: 'UTC' })
  })

  it('says what is wrong before it is sent', () => {
    expect(faultsOf(NIGHTLY)).toEqual({})
    expect(Object.keys(faultsOf({ ...NIGHTLY, name: 'a b', configuration: ' ', limit: '0' }))).toEqual([
      'name',
      'configuration',
      'limit',
    ])
  })

  it('comes back from a schedule as it was', () => {
    const input = inputOf({ ...NIGHTLY, limit: '5', tags: 'a, b' })
    const schedule = { ...input, id: 's', enabled: true, fault: '', owner: 'ada', owned: true }
    const document = { ...schedule, created_at: '', next_at: null, last: null }
    expect(inputOf(fieldsOf(document as unknown as Parameters<typeof fieldsOf>[0]))).toEqual(input)
  })
})
