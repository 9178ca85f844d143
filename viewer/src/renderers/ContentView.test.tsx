import { render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { expect, test, vi } from 'vitest'
import { ContentView } from './ContentView'

test('hostile text in every form is shown and makes no element', () => {
  const evil = '<img src=x onerror=alert(1)><script>alert(1)</script>'
  for (const type of ['text/plain', 'text/markdown', 'text/csv', 'text/x-diff', 'application/json']) {
    const { container, unmount } = render(<ContentView data={`${evil},b\n${evil},c`} type={type} />)
    expect(container.querySelector('img, script')).toBeNull()
    expect(container.textContent).toContain('<script>alert(1)</script>')
    unmount()
  }
})

test('Markdown is drawn; links are told and cannot be followed, images are not loaded', () => {
  const { container } = render(
    <ContentView
      data={'# Title\n\n**bold** [here](https://example.org) ![pic](https://example.org/p.png)'}
      type="text/markdown"
    />,
  )
  expect(container.querySelector('strong')?.textContent).toBe('bold')
  expect(container.querySelector('a, img')).toBeNull()
  expect(container.textContent).toContain('https://example.org/p.png')
})

test('the other forms are one click away', async () => {
  render(
    <ContentView
      data={[
        ['X', 'O'],
        ['', 'X'],
      ]}
      type="application/json"
    />,
  )
  expect(screen.getByRole('table', { name: /board of 2 × 2/i })).toBeTruthy()
  await userEvent.click(screen.getByRole('button', { name: 'JSON' }))
  expect(screen.getByRole('tree')).toBeTruthy()
})

test('cells that changed since the step before are marked and say how', () => {
  render(
    <ContentView
      data={[
        ['X', 'O'],
        ['', 'X'],
      ]}
      before={[
        ['X', ''],
        ['', 'X'],
      ]}
      type="application/json"
    />,
  )
  expect(document.querySelector('[data-tip="row 1, column 2: empty → O"]')?.textContent).toBe('O')
})

test('an image address is told and not loaded', () => {
  const { container } = render(<ContentView data="https://example.org/a.png" type="image/png" />)
  expect(container.querySelector('img')).toBeNull()
  expect(container.textContent).toContain('https://example.org/a.png')
})

test('long text is folded and unfolds', async () => {
  render(<ContentView data={Array.from({ length: 60 }, (_, n) => `line number ${n}`).join('\n')} type="text/plain" />)
  expect(screen.queryByText(/line number 59/)).toBeNull()
  await userEvent.click(screen.getByRole('button', { name: /show all 60 lines/i }))
  expect(screen.getByText(/line number 59/)).toBeTruthy()
})

test('ten megabytes make few elements', () => {
  const { container } = render(<ContentView data={'word and more words\n'.repeat(500_000)} type="text/plain" />)
  expect(container.querySelectorAll('*').length).toBeLessThan(400)
})

test('referred content is read from the server, its beginning first', async () => {
  const bytes = new TextEncoder().encode('the beginning ü')
  const fetched = vi
    .spyOn(globalThis, 'fetch')
    .mockResolvedValue(new Response(bytes, { status: 206, headers: { 'content-range': `bytes 0-15/200000` } }))
  render(<ContentView data={{ $blob: 'abcdef0123', bytes: 200_000 }} type="text/plain" />)
  expect(await screen.findByText('the beginning ü')).toBeTruthy()
  expect(screen.getByRole('button', { name: 'Load more' })).toBeTruthy()
  expect(String(fetched.mock.calls[0]?.[0])).toContain('/api/blobs/abcdef0123')
  fetched.mockRestore()
})

test('content that cannot be read says so', async () => {
  const fetched = vi.spyOn(globalThis, 'fetch').mockResolvedValue(new Response('', { status: 404 }))
  render(<ContentView data={{ $blob: 'abcdef0123', bytes: 200_000 }} type="text/plain" />)
  expect(await screen.findByText(/answered 404/)).toBeTruthy()
  fetched.mockRestore()
})

test('a large image is shown from its bytes', async () => {
  const png = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10])
  const fetched = vi.spyOn(globalThis, 'fetch').mockResolvedValue(new Response(png))
  URL.createObjectURL = () => 'blob:here'
  URL.revokeObjectURL = () => {}
  render(<ContentView data={{ $blob: 'abcdef0123', bytes: 90_000 }} type="image/png" />)
  expect((await screen.findByRole('img')).getAttribute('src')).toBe('blob:here')
  fetched.mockRestore()
})
