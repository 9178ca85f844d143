import { describe, expect, it } from 'vitest'
import type { EventDocument } from './events'
import { isContinued, LINES, linesFrom, streamOf } from './log'

function line(message: string, stream = 'stdout', step = 1): EventDocument {
  return { seq: 0, step, at: 0, kind: 'log', payload: { stream, message } }
}

describe('lines of a program', () => {
  const events = [line('a'), line('b'), line('oh', 'stderr'), line('c'), line('d', 'stdout', 2)]
  const at = (row: number) => events[row]

  it('are one text while stream and step stay the same', () => {
    expect(linesFrom(0, line('a'), at)).toEqual(['a', 'b'])
    expect(events.map((event, row) => isContinued(row, event, at))).toEqual([false, true, false, false, false])
  })

  it('begin again where what is before is not loaded', () => {
    expect(isContinued(3, line('x'), () => undefined)).toBe(false)
  })

  it('end after so many that one text does not grow for ever', () => {
    const many = Array.from({ length: LINES + 5 }, (_, row) => line(`${row}`))
    expect(linesFrom(0, line('0'), (row) => many[row])).toHaveLength(LINES)
    expect(isContinued(LINES, line('x'), (row) => many[row])).toBe(false)
  })

  it('are not the notes of others', () => {
    expect(streamOf({ seq: 0, step: 0, at: 0, kind: 'log', payload: { message: 'note' } })).toBe('')
  })
})
