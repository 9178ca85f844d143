import { QueryClient } from '@tanstack/react-query'
import { act, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { useShortcut } from '../keys/useShortcut'
import { draw } from '../run/testPage'
import { PaletteButton } from './PaletteButton'

const asked: { path: string; signal: AbortSignal | undefined }[] = []
const done = vi.fn()

beforeEach(() => {
  asked.length = 0
  done.mockClear()
  vi.stubGlobal('fetch', (input: RequestInfo, init?: RequestInit) => {
    const path = String(input instanceof Request ? input.url : input)
    asked.push({ path, signal: init?.signal ?? undefined })
    if (/\/api\/runs\?.*q=/.test(path)) return new Promise(() => {})
    const body = path.includes('/api/views')
      ? []
      : { items: [], benchmark: [], model: [{ value: 'openai/small', count: 1 }] }
    return Promise.resolve(new Response(JSON.stringify(body), { headers: { 'content-type': 'application/json' } }))
  })
})
afterEach(() => vi.unstubAllGlobals())

function Page() {
  useShortcut('r', 'Rename this run', done, { group: 'Run' })
  useShortcut('j', 'Next row', vi.fn(), { step: true })
  return (
    <>
      <PaletteButton />
      <input aria-label="field" />
    </>
  )
}

async function open(): Promise<HTMLElement> {
  await draw(<Page />, new QueryClient())
  await userEvent.click(screen.getByLabelText('field'))
  await userEvent.keyboard('{Control>}k{/Control}')
  return screen.findByRole('combobox')
}

test('opens from a field, offers what the page can do with its keys, and does it with Enter', async () => {
  const field = await open()
  expect(document.activeElement).toBe(field)
  const options = screen.getAllByRole('option').map((one) => one.textContent)
  expect(options[0]).toBe('Rename this runRunr')
  expect(options.join()).not.toContain('Next row')
  await userEvent.keyboard('renam{Enter}')
  expect(done).toHaveBeenCalledOnce()
  expect(screen.queryByRole('combobox')).toBeNull()
})

test('the active option is named, and the arrows move it round', async () => {
  const field = await open()
  const active = () => document.getElementById(field.getAttribute('aria-activedescendant') ?? '')
  expect(active()?.getAttribute('aria-selected')).toBe('true')
  const first = active()?.textContent
  await userEvent.keyboard('{ArrowUp}')
  expect(active()?.textContent).not.toBe(first)
  await userEvent.keyboard('{ArrowDown}')
  expect(active()?.textContent).toBe(first)
})

test('finds models, and passes the text on to the searches', async () => {
  await open()
  await userEvent.keyboard('small')
  await vi.waitFor(() => expect(screen.getAllByRole('option')[0]?.textContent).toBe('openai/smallModel'))
  const options = screen.getAllByRole('option').map((one) => one.textContent)
  expect(options.slice(-2)).toEqual(['What was said: “small”Search', 'Runs with “small”Search'])
})

test('asks for nothing before it is opened, and cancels what is out of date', async () => {
  await draw(<Page />, new QueryClient())
  expect(asked).toEqual([])
  await userEvent.keyboard('{Control>}k{/Control}')
  await screen.findByRole('combobox')
  const question = (q: string) => asked.find(({ path }) => path.includes(`q=${q}&`) || path.endsWith(`q=${q}`))
  await userEvent.keyboard('gs')
  await vi.waitFor(() => expect(question('gs')).toBeDefined())
  await userEvent.keyboard('m')
  await vi.waitFor(() => expect(question('gs')?.signal?.aborted).toBe(true))
  await act(async () => {})
})
