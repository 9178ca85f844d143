import { QueryClient } from '@tanstack/react-query'
import { screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { afterEach, expect, it, vi } from 'vitest'
import { documentQuery } from '../api/query'
import type { Schema } from '../api/types'
import { run } from '../run/examples'
import { draw } from '../run/testPage'
import type { Me } from '../session/person'
import { AddRows } from './AddRows'

const request = { redacted: false } as Schema<'RunRequestDocument'>

/** A server with two workspaces, in one of which the user may upload, and what it was asked to add. */
function serve() {
  const asked: { path: string; body: unknown }[] = []
  vi.stubGlobal('fetch', async (target: string, { method, body }: RequestInit = {}) => {
    const path = new URL(target).pathname
    if (method === 'POST') {
      asked.push({ path, body: JSON.parse(String(body)) })
      return Response.json({ id: 'd1', name: 'hard', version: 2, status: 'processing', rows: 1 }, { status: 202 })
    }
    if (path.endsWith('/datasets')) return Response.json({ items: [{ id: 'd1', name: 'hard' }], next_cursor: null })
    return Response.json([
      { id: 'w1', name: 'Seen', role: 'viewer' },
      { id: 'w2', name: 'Reef', role: 'member' },
    ])
  })
  return asked
}

function me(type: Me['type']): QueryClient {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Number.POSITIVE_INFINITY } } })
  client.setQueryData(documentQuery('/api/me').queryKey, { type } as Me)
  return client
}

afterEach(() => vi.unstubAllGlobals())

it('adds the episodes that a filter lets through to a dataset of a workspace in which one may upload', async () => {
  const asked = serve()
  await draw(
    <AddRows run={run({ id: 'r1', request })} where={{ outcome: 'fail', label: 'a=b' }} count={3} />,
    me('member'),
  )
  await userEvent.click(screen.getByRole('button', { name: 'Add to dataset…' }))
  expect(await screen.findByText(/Each task of 3 episodes/)).toBeTruthy()
  await userEvent.selectOptions(await screen.findByLabelText('Dataset'), await screen.findByText('hard'))
  expect(screen.queryByLabelText('Workspace')).toBeNull()
  await userEvent.click(screen.getByRole('button', { name: 'Add' }))
  const where = {
    outcome: 'fail',
    label: 'a=b',
    state: [],
    cause: [],
    low: null,
    high: null,
    task: '',
    mistake: '',
    behaviour: '',
    q: '',
    sort: 'index',
  }
  expect(asked).toEqual([{ path: '/api/workspaces/w2/datasets/d1/rows', body: { run: 'r1', split: '', where } }])
})

it('adds one episode to a new dataset', async () => {
  const asked = serve()
  await draw(<AddRows run={run({ id: 'r1', request })} episodes={['e1']} count={1} />, me('member'))
  await userEvent.click(screen.getByRole('button', { name: 'Add to dataset…' }))
  expect(((await screen.findByRole('button', { name: 'Add' })) as HTMLButtonElement).disabled).toBe(true)
  await userEvent.type(screen.getByLabelText('Name'), 'new cases')
  await userEvent.type(screen.getByLabelText(/^Split/), 'test')
  await userEvent.click(screen.getByRole('button', { name: 'Add' }))
  expect(asked).toEqual([
    { path: '/api/workspaces/w2/datasets/new%20cases/rows', body: { run: 'r1', split: 'test', episodes: ['e1'] } },
  ])
})

it.each([
  ['a guest', 'guest', request, 3],
  ['somebody from whom the prompts are hidden', 'member', { ...request, redacted: true }, 3],
  ['a run of another machine', 'member', null, 3],
  ['no episodes', 'member', request, 0],
] as const)('is not there for %s', async (_who, type, given, count) => {
  await draw(<AddRows run={run({ request: given })} count={count} />, me(type))
  expect(screen.queryByRole('button')).toBeNull()
})
