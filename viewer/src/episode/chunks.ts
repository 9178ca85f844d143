/** Places of the rows of a very long list whose heights are known only once they were drawn. */

/** Rows that are drawn and measured together. */
export const CHUNK = 8

/** Browsers end an element somewhere above 17 million pixels. */
const TALLEST = 15_000_000

/** Heights of chunks: measured where they were drawn, guessed elsewhere. */
export class Heights {
  private readonly measured = new Map<number, number>()
  private total = 0
  private offsets: Float64Array | null = null

  constructor(
    readonly count: number,
    private readonly guess = 600,
  ) {}

  /** Return a list of another length that keeps what was measured. */
  resized(count: number): Heights {
    const next = new Heights(count, this.guess)
    for (const [chunk, height] of this.measured) {
      // The last chunk grows when the list does.
      if (chunk < count && (chunk < this.count - 1 || count === this.count)) next.set(chunk, height)
    }
    return next
  }

  /** Take a measurement; returns whether it is news. */
  set(chunk: number, height: number): boolean {
    const known = this.measured.get(chunk)
    if (known !== undefined && Math.abs(known - height) < 0.5) return false
    this.measured.set(chunk, height)
    this.total += height - (known ?? 0)
    this.offsets = null
    return true
  }

  /** Return the height of a chunk in pixels. */
  of(chunk: number): number {
    return this.measured.get(chunk) ?? this.typical
  }

  /** Return where a chunk begins, in pixels from the top of the list; that of `count` is the height of the list. */
  start(chunk: number): number {
    return this.places()[Math.max(0, Math.min(chunk, this.count))] ?? 0
  }

  /** Return the chunk at a distance from the top of the list. */
  at(distance: number): number {
    const places = this.places()
    let low = 0
    let high = this.count - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if ((places[middle] ?? 0) <= distance) low = middle
      else high = middle - 1
    }
    return Math.max(low, 0)
  }

  private get typical(): number {
    const mean = this.measured.size > 2 ? this.total / this.measured.size : this.guess
    return Math.min(mean, TALLEST / Math.max(this.count, 1))
  }

  private places(): Float64Array {
    if (this.offsets) return this.offsets
    const places = new Float64Array(this.count + 1)
    const typical = this.typical
    for (let chunk = 0; chunk < this.count; chunk++) {
      places[chunk + 1] = (places[chunk] ?? 0) + (this.measured.get(chunk) ?? typical)
    }
    this.offsets = places
    return places
  }
}
