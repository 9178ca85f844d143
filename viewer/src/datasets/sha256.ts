/** SHA-256 of data that comes in pieces: the browser's own needs all of it at once, and a secure address. */

const WORDS = 64
const BLOCK = 64

/** The first 32 bits of the fractional parts of the roots of the first primes. */
function fractions(amount: number, root: number): Uint32Array {
  const found: number[] = []
  for (let candidate = 2; found.length < amount; candidate += 1) {
    let prime = true
    for (let factor = 2; factor * factor <= candidate && prime; factor += 1) prime = candidate % factor !== 0
    if (prime) found.push((candidate ** root % 1) * 2 ** 32)
  }
  return Uint32Array.from(found)
}

const ROUNDS = fractions(WORDS, 1 / 3)
const START = fractions(8, 1 / 2)

/** The digest of everything that `add` was given. */
export class Sha256 {
  readonly #state = START.slice()
  readonly #words = new Uint32Array(WORDS)
  readonly #rest = new Uint8Array(BLOCK)
  #held = 0
  #length = 0

  /** Take the next bytes. */
  add(data: Uint8Array): this {
    this.#length += data.length
    let at = 0
    if (this.#held > 0) {
      at = Math.min(BLOCK - this.#held, data.length)
      this.#rest.set(data.subarray(0, at), this.#held)
      this.#held += at
      if (this.#held < BLOCK) return this
      this.#block(this.#rest, 0)
      this.#held = 0
    }
    for (; at + BLOCK <= data.length; at += BLOCK) this.#block(data, at)
    this.#rest.set(data.subarray(at))
    this.#held = data.length - at
    return this
  }

  /** Return the digest in hexadecimal; nothing may be added afterwards. */
  hex(): string {
    const bits = this.#length * 8
    const padding = new Uint8Array((this.#held < 56 ? 56 : 120) - this.#held + 8)
    padding[0] = 0x80
    const view = new DataView(padding.buffer)
    view.setUint32(padding.length - 8, Math.floor(bits / 2 ** 32))
    view.setUint32(padding.length - 4, bits % 2 ** 32)
    this.add(padding)
    return [...this.#state].map((word) => word.toString(16).padStart(8, '0')).join('')
  }

  #block(data: Uint8Array, from: number): void {
    const w = this.#words
    for (let i = 0; i < 16; i += 1) {
      const at = from + 4 * i
      w[i] =
        ((data[at] as number) << 24) |
        ((data[at + 1] as number) << 16) |
        ((data[at + 2] as number) << 8) |
        (data[at + 3] as number)
    }
    for (let i = 16; i < WORDS; i += 1) {
      const x = w[i - 15] as number
      const y = w[i - 2] as number
      const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3)
      const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10)
      w[i] = (w[i - 16] as number) + s0 + (w[i - 7] as number) + s1
    }
    const state = this.#state
    let [a, b, c, d, e, f, g, h] = state as unknown as [number, number, number, number, number, number, number, number]
    for (let i = 0; i < WORDS; i += 1) {
      const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7))
      const t1 = (h + s1 + ((e & f) ^ (~e & g)) + (ROUNDS[i] as number) + (w[i] as number)) | 0
      const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10))
      const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0
      h = g
      g = f
      f = e
      e = (d + t1) | 0
      d = c
      c = b
      b = a
      a = (t1 + t2) | 0
    }
    const sums = [a, b, c, d, e, f, g, h]
    for (let i = 0; i < 8; i += 1) state[i] = (state[i] as number) + (sums[i] as number)
  }
}
