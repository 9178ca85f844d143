/** What programs print, line by line: lines that follow each other are shown as one text. */
import { type EventAt, type EventDocument, payloadOf, textIn } from './events'

/** Lines of one text at most; the next one begins another. */
export const LINES = 400

/** Return the stream that a log event is a line of; empty for a note of another kind. */
export function streamOf(event: EventDocument): string {
  if (event.kind !== 'log') return ''
  const payload = payloadOf(event)
  return typeof payload.message === 'string' ? textIn(payload, 'stream') : ''
}

/** Return whether the line of a row is shown by an earlier row. */
export function isContinued(row: number, event: EventDocument, eventAt: EventAt): boolean {
  const stream = streamOf(event)
  const before = row % LINES === 0 ? undefined : eventAt(row - 1)
  return stream !== '' && before !== undefined && before.step === event.step && streamOf(before) === stream
}

/** Return the lines that a row shows: its own, and those of the rows that continue it. */
export function linesFrom(row: number, event: EventDocument, eventAt: EventAt): string[] {
  const lines = [textIn(payloadOf(event), 'message')]
  for (let at = row + 1; ; at++) {
    const next = eventAt(at)
    if (next === undefined || !isContinued(at, next, eventAt)) return lines
    lines.push(textIn(payloadOf(next), 'message'))
  }
}
