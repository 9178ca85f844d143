/** Search parameters of an address: written plainly (`?state=failed&state=running&q=text`) and read with types. */

/** The parameters as they stand in the address: every value is a text or a list of texts. */
export type RawSearch = Record<string, unknown>

/** Write parameters; lists repeat the key, missing and empty values are left out. */
export function writeSearch(search: RawSearch): string {
  const written = new URLSearchParams()
  for (const [key, value] of Object.entries(search)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null && one !== '' && one !== false) written.append(key, String(one))
    }
  }
  const text = written.toString()
  return text ? `?${text}` : ''
}

/** Read parameters; a key that is there twice gives a list. */
export function readSearch(text: string): RawSearch {
  const read: RawSearch = {}
  for (const [key, value] of new URLSearchParams(text)) {
    const known = read[key]
    read[key] = known === undefined ? value : Array.isArray(known) ? [...known, value] : [known, value]
  }
  return read
}

/** A text, or nothing when it is empty. */
export function text(value: unknown): string | undefined {
  const one = Array.isArray(value) ? value[0] : value
  return typeof one === 'string' && one !== '' ? one : typeof one === 'number' ? String(one) : undefined
}

/** A list of texts, or nothing when it is empty. */
export function texts(value: unknown): string[] | undefined {
  const all = (Array.isArray(value) ? value : [value]).map(text).filter((one) => one !== undefined)
  return all.length > 0 ? [...new Set(all)] : undefined
}

/** A number, or nothing when it is not one. */
export function number(value: unknown): number | undefined {
  const written = text(value)
  const read = written === undefined ? Number.NaN : Number(written)
  return Number.isFinite(read) ? read : undefined
}

/** A whole number from zero, or nothing. */
export function index(value: unknown): number | undefined {
  const read = number(value)
  return read !== undefined && Number.isInteger(read) && read >= 0 ? read : undefined
}

/** One of the given words, or nothing. */
export function oneOf<Word extends string>(value: unknown, words: readonly Word[]): Word | undefined {
  const written = text(value)
  return words.find((word) => word === written)
}

/** Those of the given words that are there, or nothing. */
export function someOf<Word extends string>(value: unknown, words: readonly Word[]): Word[] | undefined {
  const found = (texts(value) ?? []).flatMap((one) => words.filter((word) => word === one))
  return found.length > 0 ? found : undefined
}

/** Return the keys of a table. */
export function keysOf<Table extends object>(table: Table): (keyof Table)[] {
  return Object.keys(table) as (keyof Table)[]
}
