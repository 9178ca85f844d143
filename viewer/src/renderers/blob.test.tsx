import { afterEach, expect, test, vi } from 'vitest'
import { readPiece } from './blob'

afterEach(() => vi.restoreAllMocks())

function answer(response: Response): void {
  vi.spyOn(globalThis, 'fetch').mockResolvedValue(response)
}

test('a part says whether more follows', async () => {
  answer(new Response('abc', { status: 206, headers: { 'content-range': 'bytes 0-2/5' } }))
  expect(await readPiece('d', 0, 3)).toMatchObject({ last: false })
  answer(new Response('de', { status: 206, headers: { 'content-range': 'bytes 3-4/5' } }))
  expect(await readPiece('d', 3, 3)).toMatchObject({ last: true })
})

test('a server without ranges is read only as far as needed', async () => {
  const stream = new ReadableStream<Uint8Array>({
    pull(controller) {
      controller.enqueue(new TextEncoder().encode('0123456789'))
    },
  })
  answer(new Response(stream))
  const piece = await readPiece('d', 5, 10)
  expect(new TextDecoder().decode(piece.bytes)).toBe('5678901234')
  expect(piece.last).toBe(false)
})

test('the end, and nothing after it', async () => {
  answer(new Response('abc'))
  const piece = await readPiece('d', 1, 10)
  expect(new TextDecoder().decode(piece.bytes)).toBe('bc')
  expect(piece.last).toBe(true)
  answer(new Response('', { status: 416 }))
  expect(await readPiece('d', 10, 10)).toMatchObject({ last: true })
})
