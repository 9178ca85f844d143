/** Large content, read from the API piece by piece. */
import { place } from '../place'

interface Piece {
  bytes: Uint8Array<ArrayBuffer>
  /** Whether nothing follows. */
  last: boolean
}

/** Return where the content lies, relative to the page's base. */
function blobAddress(digest: string): string {
  const directory = place.mode === 'site' ? '/data/blobs/' : '/api/blobs/'
  return new URL(`.${directory}${encodeURIComponent(digest)}`, document.baseURI).href
}

/** Read `length` bytes from `from` on. A server that knows no ranges is read up to there and then left. */
export async function readPiece(digest: string, from: number, length: number, signal?: AbortSignal): Promise<Piece> {
  const range = `bytes=${from}-${from + length - 1}`
  const response = await fetch(blobAddress(digest), { headers: { range }, signal })
  if (response.status === 416) return { bytes: new Uint8Array(), last: true }
  if (!response.ok) throw new Error(`The server answered ${response.status} for this content.`)
  if (response.status === 206) {
    const bytes = new Uint8Array(await response.arrayBuffer())
    const size = Number(/\/(\d+)$/.exec(response.headers.get('content-range') ?? '')?.[1] ?? Number.NaN)
    return { bytes, last: Number.isNaN(size) ? bytes.length < length : from + bytes.length >= size }
  }
  return await partOf(response, from, length)
}

async function partOf(response: Response, from: number, length: number): Promise<Piece> {
  const reader = response.body?.getReader()
  if (!reader) return { bytes: new Uint8Array(), last: true }
  const found = new Uint8Array(length)
  let passed = 0
  let taken = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return { bytes: found.slice(0, taken), last: true }
    const start = Math.max(from - passed, 0)
    const part = value.subarray(start, start + length - taken)
    if (part.length > 0) found.set(part, taken)
    taken += part.length
    passed += value.length
    if (taken === length && passed > from + length) {
      await reader.cancel()
      return { bytes: found, last: false }
    }
  }
}
