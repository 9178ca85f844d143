import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { render, screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { expect, test, vi } from 'vitest'
import { post } from '../api/client'
import type { Schema } from '../api/types'
import { AskAgain } from './AskAgain'

vi.mock('../api/client', () => ({ post: vi.fn() }))

const CALL = {
  seq: 4,
  step: 1,
  model: 'openai/old',
  messages: [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: '1 + 1?' },
  ],
  reply: { role: 'assistant', content: 'three' },
  payload: { usage: { prompt: 9, completion: 1 } },
  wire: null,
  again: true,
} as unknown as Schema<'CallDocument'>

const ANSWER = {
  model: 'openai/new',
  reply: { role: 'assistant', content: '<img src=x onerror=alert(1)> two' },
  finish_reason: 'stop',
  usage: { prompt: 9, completion: 2, cached: 0, reasoning: 0, total: 11, calls: 1, cost_usd: 0.02 },
  latency_s: 0.5,
  same_body: false,
  notes: ['the reply was cut off at its limit of tokens'],
}

function show() {
  return render(
    <QueryClientProvider client={new QueryClient()}>
      <AskAgain call={CALL} episodeId="e" />
    </QueryClientProvider>,
  )
}

test('only what was edited is sent, and both answers stand beside each other as text', async () => {
  vi.mocked(post).mockResolvedValueOnce(ANSWER)
  const { container } = show()
  await userEvent.type(screen.getByLabelText(/Model/), 'openai/new')
  await userEvent.type(screen.getByLabelText(/Last message of the user/), '!')
  await userEvent.click(screen.getByRole('button', { name: 'Ask again' }))

  expect(post).toHaveBeenCalledWith('/api/episodes/{episode_id}/calls/{seq}/again', {
    params: { episode_id: 'e', seq: 4 },
    body: { model: 'openai/new', system: null, prompt: '1 + 1?!' },
  })
  await waitFor(() => expect(screen.getByRole('region', { name: 'Now' }).textContent).toContain('two'))
  expect(screen.getByRole('region', { name: 'Then' }).textContent).toContain('three')
  expect(screen.getByText('Another prompt was sent.')).toBeTruthy()
  expect(screen.getByText('The reply was cut off at its limit of tokens.')).toBeTruthy()
  expect(container.querySelector('img')).toBeNull()
})

test('a model that does not answer says so at the form', async () => {
  vi.mocked(post).mockRejectedValueOnce(new Error('the model did not answer: no key'))
  show()
  await userEvent.click(screen.getByRole('button', { name: 'Ask again' }))

  expect(await screen.findByText(/no key/)).toBeTruthy()
  expect(screen.queryByRole('region', { name: 'Now' })).toBeNull()
})
