/** Characters that a reader cannot see or that reorder what is seen, made visible. */

export interface Piece {
  text: string
  /** What the character is; only set on pieces that stand for one invisible character. */
  mark?: string
}

const NAMES: Record<number, [short: string, name: string]> = {
  1564: ['ALM', 'Arabic letter mark'],
  8203: ['ZWSP', 'zero width space'],
  8206: ['LRM', 'left-to-right mark'],
  8207: ['RLM', 'right-to-left mark'],
  8232: ['LS', 'line separator'],
  8233: ['PS', 'paragraph separator'],
  8234: ['LRE', 'left-to-right embedding'],
  8235: ['RLE', 'right-to-left embedding'],
  8236: ['PDF', 'pop directional formatting'],
  8237: ['LRO', 'left-to-right override'],
  8238: ['RLO', 'right-to-left override'],
  8288: ['WJ', 'word joiner'],
  8294: ['LRI', 'left-to-right isolate'],
  8295: ['RLI', 'right-to-left isolate'],
  8296: ['FSI', 'first strong isolate'],
  8297: ['PDI', 'pop directional isolate'],
  65279: ['BOM', 'byte order mark'],
}

/** Names of U+0000 to U+001F and of U+007F. The signs of U+2400 and on are in few fonts. */
const CONTROLS =
  'NUL SOH STX ETX EOT ENQ ACK BEL BS HT LF VT FF CR SO SI DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US DEL'.split(
    ' ',
  )

// Written as escapes so that no reader of this file meets the characters themselves.
const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060\u2066-\u2069\ufeff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g

/** Return the text in pieces; every hidden character is a piece of its own with a visible sign. */
export function pieces(text: string): Piece[] {
  const found: Piece[] = []
  let from = 0
  for (const match of text.matchAll(HIDDEN)) {
    if (match[0] === '\r' && text[match.index + 1] === '\n') {
      if (match.index > from) found.push({ text: text.slice(from, match.index) })
      from = match.index + 1
      continue
    }
    if (match.index > from) found.push({ text: text.slice(from, match.index) })
    found.push(sign(match[0].charCodeAt(0)))
    from = match.index + 1
  }
  if (from < text.length) found.push({ text: text.slice(from) })
  return found
}

/** Return the text on one line with visible signs in place of hidden characters, for titles and short summaries. */
export function plain(text: string): string {
  return pieces(text)
    .map((piece) => piece.text)
    .join('')
}

/** Return the first `length` characters of the text on one line. */
export function brief(text: string, length = 160): string {
  const line = plain(text.slice(0, length * 4))
    .replace(/\s+/g, ' ')
    .trim()
  return line.length > length || text.length > length * 4 ? `${cut(line, length)}…` : line
}

/** Return at most `length` UTF-16 units, never half a surrogate pair. */
export function cut(text: string, length: number): string {
  const end = text.charCodeAt(length - 1)
  return text.slice(0, end >= 0xd800 && end <= 0xdbff ? length - 1 : length)
}

function sign(code: number): Piece {
  if (code >= 0xd800 && code <= 0xdfff) return { text: '\ufffd', mark: `${point(code)} half of a surrogate pair` }
  const control = CONTROLS[code === 0x7f ? 0x20 : code]
  if (control) return { text: `⟪${control}⟫`, mark: `${point(code)} control character` }
  const known = NAMES[code]
  if (known) return { text: `⟪${known[0]}⟫`, mark: `${point(code)} ${known[1]}` }
  return { text: `⟪${point(code).slice(2)}⟫`, mark: `${point(code)} control character` }
}

function point(code: number): string {
  return `U+${code.toString(16).toUpperCase().padStart(4, '0')}`
}
