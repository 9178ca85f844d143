import { render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { expect, test, vi } from 'vitest'
import { Menu } from './Menu'

const ITEMS = ['One', 'Two', 'Three'].map((label) => ({ label }))

function focused(): string | null {
  return document.activeElement?.textContent ?? null
}

test('arrows, Home and End go through the items, and round', async () => {
  const user = userEvent.setup()
  render(<Menu label="Things" items={ITEMS} />)
  await user.tab()
  await user.keyboard('{Enter}')
  expect(focused()).toBe('One')
  await user.keyboard('{ArrowUp}')
  expect(focused()).toBe('Three')
  await user.keyboard('{Home}{ArrowDown}')
  expect(focused()).toBe('Two')
  await user.keyboard('{End}')
  expect(focused()).toBe('Three')
})

test('escape closes, and so does choosing; the button has the focus again', async () => {
  const user = userEvent.setup()
  const choose = vi.fn()
  render(<Menu label="Things" items={[{ label: 'One', onChoose: choose }]} />)
  const button = screen.getByRole('button', { name: 'Things' })
  await user.click(button)
  await user.keyboard('{Escape}')
  expect(screen.queryByRole('menu')).toBeNull()
  expect(document.activeElement).toBe(button)
  await user.click(button)
  await user.keyboard('{Enter}')
  expect(choose).toHaveBeenCalledOnce()
  expect(document.activeElement).toBe(button)
})

test('scrolling the page closes it, scrolling the list does not', async () => {
  const user = userEvent.setup()
  render(<Menu label="Things" items={ITEMS} />)
  await user.click(screen.getByRole('button', { name: 'Things' }))
  screen.getByRole('menu').dispatchEvent(new Event('scroll'))
  expect(screen.queryByRole('menu')).not.toBeNull()
  document.dispatchEvent(new Event('scroll'))
  await vi.waitFor(() => expect(screen.queryByRole('menu')).toBeNull())
})
