import { render, screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { afterEach, expect, it, vi } from 'vitest'
import { DeleteDialog } from './DeleteDialog'
import { runFixture } from './runFixture'
import { TagDialog } from './TagDialog'

const runs = [runFixture({ id: 'r1', name: 'first', tags: ['old', 'kept'] }), runFixture({ id: 'r2', tags: ['kept'] })]

function serve(status = 200) {
  const fetched = vi.fn(async (_address: string, init?: RequestInit) =>
    status === 200
      ? init?.method === 'DELETE'
        ? new Response(null, { status: 204 })
        : Response.json({})
      : Response.json({ error: 'conflict', detail: 'another process works on it' }, { status }),
  )
  vi.stubGlobal('fetch', fetched)
  return fetched
}

afterEach(() => vi.unstubAllGlobals())

it('adds tags to all runs and takes some away', async () => {
  const fetched = serve()
  const done = vi.fn()
  render(<TagDialog runs={runs} onClose={() => {}} onDone={done} />)
  await userEvent.type(screen.getByLabelText('Add tags, separated by commas'), 'new, kept')
  await userEvent.click(screen.getByLabelText(/old/))
  await userEvent.click(screen.getByRole('button', { name: 'Save' }))
  await waitFor(() => expect(done).toHaveBeenCalled())
  expect(fetched.mock.calls.map(([, init]) => init?.body)).toEqual([
    '{"tags":["kept","new"]}',
    '{"tags":["kept","new"]}',
  ])
})

it('deletes only after the question was answered', async () => {
  const fetched = serve()
  const done = vi.fn()
  render(<DeleteDialog runs={runs} onClose={() => {}} onDone={done} />)
  expect(screen.getByText('first')).toBeTruthy()
  expect(fetched).not.toHaveBeenCalled()
  await userEvent.click(screen.getByRole('button', { name: 'Delete 2 runs' }))
  await waitFor(() => expect(done).toHaveBeenCalled())
  expect(fetched.mock.calls.map(([address]) => new URL(address).pathname)).toEqual(['/api/runs/r1', '/api/runs/r2'])
})

it('tells why a run could not be deleted', async () => {
  serve(409)
  const done = vi.fn()
  render(<DeleteDialog runs={runs} onClose={() => {}} onDone={done} />)
  await userEvent.click(screen.getByRole('button', { name: 'Delete 2 runs' }))
  await waitFor(() => expect(screen.getByText('Another process works on it')).toBeTruthy())
  expect(done).not.toHaveBeenCalled()
})
