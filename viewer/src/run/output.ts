/** The output of a run as one text. */
import type { Schema } from '../api/types'

/** What is known of an output: its text from the first piece that the server kept, and the number of the last one. */
export interface Output {
  text: string
  last: number
  ended: boolean
  /** Whether the server dropped the beginning. */
  cut: boolean
}

/** The output with a further page of it. */
export function outputWith(known: Output | undefined, page: Schema<'RunOutputPage'>): Output {
  const { text = '', last = 0, cut = false } = known ?? {}
  const first = page.items[0]?.number ?? last + 1
  const more = page.items.map((piece) => piece.text).join('')
  return { text: text + more, last: page.last, ended: page.ended, cut: cut || first > last + 1 }
}

/** The end of a text of at most so many characters, from the beginning of a line. */
export function endOf(text: string, most: number): string {
  if (text.length <= most) return text
  const end = text.slice(-most)
  const line = end.indexOf('\n')
  return line === -1 ? end : end.slice(line + 1)
}
