import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { act, renderHook } from '@testing-library/react'
import type { ReactNode } from 'react'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { runFixture } from './runFixture'
import { useRunChanges } from './useRunChanges'

let hear: (event: MessageEvent<string>) => void = () => {}

class Stream {
  addEventListener(name: string, listener: (event: MessageEvent<string>) => void) {
    if (name === 'runs') hear = listener
  }
  close() {}
}

beforeEach(() => vi.stubGlobal('EventSource', Stream))
afterEach(() => vi.unstubAllGlobals())

/** Ids of the runs that the list lacks, once a change of a run begun so many seconds before the list arrived is told. */
function arrivedFrom(begunBefore: number): readonly string[] {
  const readAt = Date.parse('2026-01-02T00:00:00Z')
  const client = new QueryClient()
  const wrapper = ({ children }: { children: ReactNode }) => (
    <QueryClientProvider client={client}>{children}</QueryClientProvider>
  )
  const { result } = renderHook(() => useRunChanges({}, readAt), { wrapper })
  const run = runFixture({ id: 'one', created_at: new Date(readAt - begunBefore * 1_000).toISOString() })
  act(() => hear(new MessageEvent('runs', { data: JSON.stringify({ runs: [run], deleted: [] }) })))
  return result.current.arrived
}

test('a run that was recorded after a list was read, and began before a slow page got the list, is told', () => {
  expect(arrivedFrom(-1)).toEqual(['one'])
  expect(arrivedFrom(20)).toEqual(['one'])
})

test('an old run of a page that is not held is not new when it changes', () => {
  expect(arrivedFrom(3_600)).toEqual([])
})
