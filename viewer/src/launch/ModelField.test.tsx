import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { render, screen } from '@testing-library/react'
import { afterEach, expect, test, vi } from 'vitest'
import { place } from '../place'
import { ModelField } from './ModelField'

const asked = vi.fn(async () => Response.json({ models: [{ name: 'team/fast' }, { name: 'openai/*' }] }))
const mode = place.mode

afterEach(() => {
  place.mode = mode
  asked.mockClear()
  vi.unstubAllGlobals()
})

function show(on: typeof mode) {
  vi.stubGlobal('fetch', asked)
  place.mode = on
  render(
    <QueryClientProvider client={new QueryClient()}>
      <ModelField placeholder="" value="" onChange={() => {}} />
    </QueryClientProvider>,
  )
}

test('a server suggests the models that it offers by name', async () => {
  show('server')
  await vi.waitFor(() => expect(screen.getByLabelText('Model').getAttribute('list')).toBeTruthy())
  expect([...document.querySelectorAll('datalist option')].map((one) => one.getAttribute('value'))).toEqual([
    'team/fast',
  ])
})

test('a laptop has no list of models to ask for', () => {
  show('laptop')
  expect(asked).not.toHaveBeenCalled()
})
