import { QueryClient, QueryClientProvider, useQuery } from '@tanstack/react-query'
import { act, render, screen } from '@testing-library/react'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { counts, run } from './examples'
import { seriesQuery, useRun } from './useRun'

class Stream {
  static last: Stream
  onopen?: () => void
  onerror?: () => void
  readyState = 1
  listeners = new Map<string, (event: MessageEvent<string>) => void>()
  constructor() {
    Stream.last = this
  }
  addEventListener(name: string, listener: (event: MessageEvent<string>) => void) {
    this.listeners.set(name, listener)
  }
  close() {}
  say(done: number, state = 'running') {
    const news = { runs: [run({ state: state as never, counts: counts({ done }) })], deleted: [] }
    this.listeners.get('runs')?.(new MessageEvent('runs', { data: JSON.stringify(news) }))
  }
}

let done = 1
const asked: string[] = []
const pairs: string[] = []

beforeEach(() => {
  vi.useFakeTimers({ shouldAdvanceTime: true })
  vi.stubGlobal('EventSource', Stream)
  vi.stubGlobal('fetch', async (input: RequestInfo) => {
    const path = String(input instanceof Request ? input.url : input)
    asked.push(path.replace(/^.*\/api\/runs\/[^/]+/, '') || '/')
    const body = path.endsWith('/series')
      ? { sampled: done }
      : run({ state: done > 2 ? 'finished' : 'running', counts: counts({ done }) })
    return new Response(JSON.stringify(body), { headers: { 'content-type': 'application/json' } })
  })
})
afterEach(() => {
  vi.unstubAllGlobals()
  vi.useRealTimers()
})

function Page() {
  const { data } = useRun(run().id, false)
  const series = useQuery({ ...seriesQuery(run().id), staleTime: Number.POSITIVE_INFINITY })
  if (data === undefined || series.data === undefined) return null
  const pair = `${data.counts.done} ${series.data.sampled}`
  pairs.push(pair)
  return <p>{pair}</p>
}

test('an update of the stream costs one request for each document, and no part is shown older than another', async () => {
  render(
    <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { staleTime: 60_000 } } })}>
      <Page />
    </QueryClientProvider>,
  )
  await screen.findByText('1 1')
  asked.length = 0
  done = 2
  act(() => {
    for (const at of [2, 2, 2]) Stream.last.say(at)
  })
  await act(() => vi.advanceTimersByTimeAsync(3_000))
  await screen.findByText('2 2')
  expect(asked.toSorted()).toEqual(['/', '/series'])
  done = 3
  act(() => Stream.last.say(3, 'finished'))
  await screen.findByText('3 3')
  expect(asked.toSorted()).toEqual(['/', '/', '/series', '/series'])
  expect([...new Set(pairs)]).toEqual(['1 1', '2 2', '3 3'])
})
