import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { act, renderHook, waitFor } from '@testing-library/react'
import type { ReactNode } from 'react'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { PAGE_SIZE } from './page'
import { runFixture } from './runFixture'
import type { RunsSearch } from './search'
import { useRunPages } from './useRunPages'

/** A server with so many runs, called by their place; its cursors are places. */
function serve(total: number) {
  const asked: URLSearchParams[] = []
  vi.stubGlobal('fetch', async (address: string) => {
    const query = new URL(address).searchParams
    asked.push(query)
    const from = Number(query.get('cursor') ?? 0)
    const to = Math.min(from + PAGE_SIZE, total)
    const items = Array.from({ length: to - from }, (_none, at) =>
      runFixture({ id: `${query.get('q') ?? ''}${from + at}` }),
    )
    return Response.json({ items, cursor: to < total ? String(to) : null, total, total_exact: true })
  })
  return asked
}

let client: QueryClient
beforeEach(() => {
  client = new QueryClient({ defaultOptions: { queries: { retry: false } } })
})
afterEach(() => {
  client.clear()
  vi.unstubAllGlobals()
})

function list(first: { search: RunsSearch; first: number; last: number }) {
  const wrapper = ({ children }: { children: ReactNode }) => (
    <QueryClientProvider client={client}>{children}</QueryClientProvider>
  )
  return renderHook(({ search, first, last }) => useRunPages(search, first, last), { initialProps: first, wrapper })
}

describe('the list of runs', () => {
  it('has the rows of the first pages and knows how many runs there are', async () => {
    serve(250)
    const { result } = list({ search: {}, first: 0, last: 30 })
    await waitFor(() => expect(result.current.at(150)?.id).toBe('150'))
    expect(result.current.total).toBe(250)
    expect(result.current.at(249)).toBeUndefined()
  })

  it('reads on where one scrolls, up to the last row', async () => {
    serve(250)
    const { result, rerender } = list({ search: {}, first: 0, last: 30 })
    await waitFor(() => expect(result.current.length).toBe(300))
    rerender({ search: {}, first: 180, last: 199 })
    await waitFor(() => expect(result.current.length).toBe(250))
    expect(result.current.at(249)?.id).toBe('249')
  })

  it('holds nothing between the first page and the rows in view', async () => {
    serve(1_000)
    const { result, rerender } = list({ search: {}, first: 0, last: 30 })
    for (const first of [80, 180, 280, 380, 480, 580]) {
      await waitFor(() => expect(result.current.length).toBeGreaterThan(first))
      rerender({ search: {}, first, last: first + 20 })
    }
    await waitFor(() => expect(result.current.at(650)?.id).toBe('650'))
    expect(result.current.at(5)?.id).toBe('5')
    expect(result.current.at(250)).toBeUndefined()
  })

  it('shows the earlier rows until a new question is answered', async () => {
    serve(3)
    const { result, rerender } = list({ search: {}, first: 0, last: 30 })
    await waitFor(() => expect(result.current.length).toBe(3))
    rerender({ search: { q: 'x' }, first: 0, last: 30 })
    expect(result.current).toMatchObject({ stale: true, length: 3 })
    expect(result.current.at(0)?.id).toBe('0')
    await waitFor(() => expect(result.current.stale).toBe(false))
    expect(result.current.at(0)?.id).toBe('x0')
  })

  it('asks for the order and the filters', async () => {
    const asked = serve(1)
    const { result } = list({ search: { state: ['failed', 'stopped'], sort: 'model' }, first: 0, last: 30 })
    await waitFor(() => expect(result.current.length).toBe(1))
    expect(asked[0]?.getAll('state')).toEqual(['failed', 'stopped'])
    expect(asked[0]?.get('sort')).toBe('model')
  })

  it('reads again from the start', async () => {
    const asked = serve(250)
    const { result } = list({ search: {}, first: 0, last: 30 })
    await waitFor(() => expect(result.current.length).toBe(300))
    const before = asked.length
    act(() => result.current.refresh())
    await waitFor(() => expect(asked.slice(before).some((query) => !query.has('cursor'))).toBe(true))
  })

  it('tells why it could not be loaded', async () => {
    vi.stubGlobal('fetch', async () => Response.json({ error: 'usage', detail: 'no such order' }, { status: 400 }))
    const { result } = list({ search: {}, first: 0, last: 30 })
    await waitFor(() => expect(result.current.error?.message).toBe('no such order'))
  })
})
