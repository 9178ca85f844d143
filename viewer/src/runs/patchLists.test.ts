import { QueryClient } from '@tanstack/react-query'
import { expect, it } from 'vitest'
import type { Page } from './page'
import { heldRuns, patchLists } from './patchLists'
import { runFixture } from './runFixture'

const page = (...ids: string[]): Page => ({
  items: ids.map((id) => runFixture({ id })),
  cursor: null,
  total: ids.length,
  total_exact: true,
})
const KEYS = [
  ['/api/runs', null, { sort: 'name' }],
  ['/api/runs', null, { sort: 'model' }],
]

function held() {
  const client = new QueryClient()
  client.setQueryData(KEYS[0] ?? [], page('a', 'b'), { updatedAt: 1_000 })
  client.setQueryData(KEYS[1] ?? [], page('b'))
  return client
}

it('changes a run in every list without making the list look freshly read', () => {
  const client = held()
  patchLists(client, { runs: [runFixture({ id: 'b', state: 'finished' })], deleted: [] })
  for (const key of KEYS) expect(client.getQueryData<Page>(key)?.items.at(-1)?.state).toBe('finished')
  expect(client.getQueryState(KEYS[0] ?? [])?.dataUpdatedAt).toBe(1_000)
  expect(client.getQueryState(KEYS[0] ?? [])?.isInvalidated).toBe(false)
})

it('reads lists again of which a run is gone', () => {
  const client = held()
  patchLists(client, { runs: [], deleted: ['a'] })
  expect(client.getQueryData<Page>(KEYS[0] ?? [])?.items.map((run) => run.id)).toEqual(['b'])
  expect(client.getQueryState(KEYS[0] ?? [])?.isInvalidated).toBe(true)
})

it('knows the runs of all lists', () => {
  expect(heldRuns(held())).toEqual(new Set(['a', 'b']))
})
