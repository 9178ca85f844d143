import { QueryClient } from '@tanstack/react-query'
import { screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { afterEach, expect, test, vi } from 'vitest'
import { run } from './examples'
import { SaveGroup } from './Groups'
import { RunSearchField } from './RunSearch'
import { draw } from './testPage'

afterEach(() => vi.unstubAllGlobals())

test('one field searches what was said, and by another scope task, ID and failure', async () => {
  const search = vi.fn()
  await draw(<RunSearchField run={run()} search={{ said: 'week', outcome: 'fail' }} onSearch={search} />)
  expect(screen.getAllByRole('searchbox')).toHaveLength(1)
  await userEvent.click(screen.getByRole('button', { name: 'Task, ID' }))
  expect(search).toHaveBeenLastCalledWith({ outcome: 'fail', q: 'week' }, true)
})

test('what is found is kept as a group of the run, once', async () => {
  const asked: unknown[] = []
  let views: unknown[] = []
  vi.stubGlobal('fetch', async (_input: RequestInfo, init?: RequestInit) => {
    if (init?.method === 'PUT') {
      asked.push(JSON.parse(String(init.body)))
      views = [{ name: 'x', ...(asked[0] as object) }]
    }
    return new Response(JSON.stringify(views), { headers: { 'content-type': 'application/json' } })
  })
  await draw(<SaveGroup runId="r1" text={'"per week"'} />, new QueryClient())
  await userEvent.click(screen.getByRole('button', { name: 'Save as a group' }))
  await vi.waitFor(() => expect(screen.queryByRole('button')).toBeNull())
  expect(asked).toEqual([{ search: 'run=r1&said=%22per+week%22' }])
})
