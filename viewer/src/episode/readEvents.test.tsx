import { afterEach, expect, test, vi } from 'vitest'
import { readEvents } from './readEvents'

afterEach(() => vi.unstubAllGlobals())

const event = (seq: number) => ({ seq, step: seq, at: 0, kind: 'observation', payload: null })

/** Answer each request with the next page; return the addresses that were asked. */
function answering(...pages: { items: ReturnType<typeof event>[]; next: number | null }[]): string[] {
  const asked: string[] = []
  vi.stubGlobal('fetch', (request: Request | string) => {
    asked.push(typeof request === 'string' ? request : request.url)
    return Promise.resolve(Response.json({ ...pages.shift(), total: 9 }))
  })
  return asked
}

test('a page that ends before the trace does is read on, until the trace ends', async () => {
  const asked = answering({ items: [event(0)], next: 4 }, { items: [], next: 7 }, { items: [event(8)], next: null })
  const page = await readEvents('e', { from: 0, limit: 200, kind: ['observation'] })
  expect(page.items.map(({ seq }) => seq)).toEqual([0, 8])
  expect(asked.map((address) => new URL(address, 'http://x').searchParams.get('from'))).toEqual(['0', '4', '7'])
})

test('no more is read than was asked for', async () => {
  const asked = answering({ items: [event(0)], next: 1 }, { items: [event(1)], next: 2 })
  const page = await readEvents('e', { limit: 2, kind: ['observation'] })
  expect(page.items).toHaveLength(2)
  expect(asked.map((address) => new URL(address, 'http://x').searchParams.get('limit'))).toEqual(['2', '1'])
})
