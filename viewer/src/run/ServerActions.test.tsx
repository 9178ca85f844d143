import { QueryClient } from '@tanstack/react-query'
import { screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { documentQuery } from '../api/query'
import type { Schema } from '../api/types'
import type { Me } from '../session/person'
import { run } from './examples'
import { ServerActions } from './ServerActions'
import { draw } from './testPage'

const request = { state: 'ended' } as Schema<'RunRequestDocument'>
const submitted = { request, mine: true, may_change: true, domain_id: 'd1', visibility: 'private' }

/** What the menu of a run offers to its owner. */
async function offered(given: Partial<Schema<'RunDetail'>>, type: Me['type'] = 'member'): Promise<string[]> {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Number.POSITIVE_INFINITY } } })
  client.setQueryData(documentQuery('/api/me').queryKey, { type } as Me)
  await draw(<ServerActions run={run({ ...submitted, ...given })} onStarted={() => {}} />, client)
  await userEvent.click(screen.getByRole('button', { name: 'More' }))
  const items = screen.getAllByRole('menuitem', { hidden: true })
  return items
    .filter((item) => !(item as HTMLButtonElement).disabled)
    .map((item) => item.textContent ?? '')
    .filter((text) => /^(Rescore|Make|Delete)/.test(text))
    .map((text) => text.split(/(?<=Rescore|…)/)[0] ?? '')
}

afterEach(() => vi.unstubAllGlobals())

describe('the menu of a run on a server', () => {
  it.each([
    ['a member', {}, 'member', ['Make public…', 'Rescore', 'Delete…']],
    ['a guest', {}, 'guest', ['Rescore', 'Delete…']],
    ['a member of its workspace', { workspace_id: 'w' }, 'member', ['Rescore', 'Delete…']],
    ['the owner of an official run', { protocol: 1 }, 'member', ['Delete…']],
    ['who pushed it', { imported: {} as Schema<'Imported'> }, 'member', ['Delete…']],
    [
      'the owner of a run in progress',
      { state: 'running', request: { ...request, state: 'claimed' } },
      'member',
      ['Make public…'],
    ],
  ] as const)('offers %s what the server allows', async (_who, given, type, items) => {
    expect(await offered(given, type)).toEqual(items)
  })

  it('is not there for those who may only read the run', async () => {
    await draw(<ServerActions run={run({ ...submitted, may_change: false })} onStarted={() => {}} />, new QueryClient())
    expect(screen.queryByRole('button', { name: 'More' })).toBeNull()
    expect(screen.queryByRole('button', { name: 'Download' })).not.toBeNull()
  })

  it('does not resume or repeat what was played elsewhere', async () => {
    const client = new QueryClient({ defaultOptions: { queries: { staleTime: Number.POSITIVE_INFINITY } } })
    client.setQueryData(documentQuery('/api/me').queryKey, { type: 'member' } as Me)
    const stopped = run({ ...submitted, state: 'stopped', imported: {} as Schema<'Imported'> })
    await draw(<ServerActions run={stopped} onStarted={() => {}} />, client)
    expect(screen.queryByRole('button', { name: 'Resume' })).toBeNull()
    expect(screen.queryByRole('link', { name: 'Run again' })).toBeNull()
  })

  it('rescores', async () => {
    const fetched = vi.fn(async (_address: string, _init?: RequestInit) => Response.json({}))
    vi.stubGlobal('fetch', fetched)
    await offered({})
    await userEvent.click(screen.getByRole('menuitem', { name: /^Rescore/, hidden: true }))
    expect(fetched.mock.calls[0]).toMatchObject([expect.stringMatching(/rescore$/), { method: 'POST' }])
  })
})
