import { act, fireEvent, render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { afterEach, expect, test, vi } from 'vitest'
import { Tips } from './Tips'

afterEach(() => vi.useRealTimers())

function page() {
  render(
    <>
      <button type="button" data-tip="Does the one thing">
        One
      </button>
      <p data-tip="What the two is">Two</p>
      <p data-full="Three, in full">Three, in full</p>
      <p data-full="Four, in full">Four, in…</p>
      <Tips />
    </>,
  )
}

const shown = () => screen.queryByRole('tooltip')?.textContent

test('the focus shows a hint and describes the element by it; escape hides it', async () => {
  page()
  await userEvent.tab()
  expect(shown()).toBe('Does the one thing')
  expect(screen.getByRole('button').getAttribute('aria-describedby')).toBe(screen.getByRole('tooltip').id)
  await userEvent.keyboard('{Escape}')
  expect(shown()).toBeUndefined()
  expect(screen.getByRole('button').hasAttribute('aria-describedby')).toBe(false)
})

test('one key goes through all hints, also of what has no focus of its own, but not through what can be read', async () => {
  page()
  await userEvent.keyboard('i')
  expect(shown()).toBe('Does the one thing')
  await userEvent.keyboard('i')
  expect(shown()).toBe('What the two is')
  expect(document.activeElement).toBe(screen.getByText('Two'))
  await userEvent.keyboard('i')
  expect(shown()).toBe('Four, in full')
  await userEvent.keyboard('I')
  expect(shown()).toBe('What the two is')
  act(() => (document.activeElement as HTMLElement).blur())
  expect(screen.getByText('Two').hasAttribute('tabindex')).toBe(false)
})

test('a tap shows the hint of a text; a button has to be held, and is not pressed then', () => {
  vi.useFakeTimers()
  page()
  const tap = (element: HTMLElement, name: string) => {
    const event = Object.assign(new MouseEvent(name, { bubbles: true, cancelable: true }), { pointerType: 'touch' })
    act(() => void fireEvent(element, event))
  }
  tap(screen.getByText('Two'), 'pointerdown')
  tap(screen.getByText('Two'), 'pointerup')
  expect(shown()).toBe('What the two is')
  const button = screen.getByRole('button')
  tap(button, 'pointerdown')
  tap(button, 'pointerup')
  expect(shown()).toBeUndefined()
  tap(button, 'pointerdown')
  act(() => void vi.advanceTimersByTime(1_000))
  expect(shown()).toBe('Does the one thing')
  expect(fireEvent.click(button)).toBe(false)
  expect(fireEvent.click(button)).toBe(true)
})

test('a pointer that rests shows a hint', () => {
  vi.useFakeTimers()
  page()
  fireEvent.pointerOver(screen.getByText('Two'))
  expect(shown()).toBeUndefined()
  act(() => void vi.advanceTimersByTime(1_000))
  expect(shown()).toBe('What the two is')
})

/** Elements of the page, and parts that pass what they do not know on to one. */
const HOSTS =
  /<(?:[a-z][a-z0-9]*|Link|Button|TextButton|LinkButton|IconButton)\s(?:[^<>{}]|=>|\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\})*?\stitle=/g

test('no element has a title, which neither keys nor fingers reach', () => {
  const files = import.meta.glob<string>('../**/*.tsx', { query: '?raw', import: 'default', eager: true })
  const found = Object.entries(files)
    .filter(([file]) => !file.endsWith('.test.tsx'))
    .flatMap(([file, text]) => (text.match(HOSTS) ?? []).map((at) => `${file}: ${at}`))
    // A frame is named by its title.
    .filter((at) => !at.includes('<iframe'))
  expect(Object.keys(files).length).toBeGreaterThan(100)
  expect(found).toEqual([])
})
