import { describe, expect, it } from 'vitest'
import type { Schema } from '../api/types'
import { EMPTY, inputOf, keysOf, missing, toggled } from './draft'

const CAUSE: Schema<'ReviewLabel'> = {
  ...{ name: 'cause', kind: 'choice', title: 'What went wrong first?', key: '', required: 'wrong' },
  options: [
    { value: 'misread', title: 'Misread', key: 'q' },
    { value: 'slip', title: '', key: '' },
  ],
}
const LUCKY: Schema<'ReviewLabel'> = {
  ...{ name: 'lucky', kind: 'flag', title: '', key: 'l', required: 'never', options: [] },
}

describe('a draft', () => {
  it('says what is missing before it can be saved', () => {
    expect(missing(EMPTY, [CAUSE])).toBe('Choose a verdict first.')
    expect(missing({ ...EMPTY, answer: 'right' }, [CAUSE])).toBeUndefined()
    expect(missing({ ...EMPTY, answer: 'wrong' }, [CAUSE])).toBe('Answer “What went wrong first?” first.')
    expect(missing({ ...EMPTY, answer: 'wrong', labels: { cause: 'slip' } }, [CAUSE])).toBeUndefined()
  })

  it('takes a label back when it is pressed again', () => {
    const once = toggled(EMPTY, 'cause', 'misread')
    expect(once.labels).toEqual({ cause: 'misread' })
    expect(toggled(once, 'cause', 'slip').labels).toEqual({ cause: 'slip' })
    expect(toggled(once, 'cause', 'misread').labels).toEqual({})
  })

  it('has a key only for what names one', () => {
    expect(keysOf([CAUSE, LUCKY])).toEqual([
      { key: 'q', name: 'cause', value: 'misread' },
      { key: 'l', name: 'lucky', value: true },
    ])
  })

  it('becomes a request', () => {
    const body = inputOf({ ...EMPTY, answer: 'wrong', note: 'n' }, 'Ada', true)
    expect(body).toEqual({ answer: 'wrong', labels: {}, note: 'n', step: '', settles: true, reviewer: 'Ada' })
  })
})
