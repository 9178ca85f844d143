import { render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { expect, test } from 'vitest'
import { JsonTree } from './JsonTree'

test('places open and close with the keyboard', async () => {
  render(<JsonTree value={{ a: { b: { c: { d: 'deep' } } } }} />)
  expect(screen.queryByText(/deep/)).toBeNull()
  screen.getByRole('tree').focus()
  await userEvent.keyboard('{ArrowDown}{ArrowDown}{ArrowRight}')
  expect(screen.getByText(/deep/)).toBeTruthy()
  await userEvent.keyboard('{ArrowLeft}')
  expect(screen.queryByText(/deep/)).toBeNull()
})

test('what is searched for is opened and marked', () => {
  const { container } = render(<JsonTree value={{ a: { b: { c: { d: 'a needle here' } } } }} highlight="needle" />)
  expect(container.querySelector('mark')?.textContent).toBe('needle')
})

test('the active row is named to those who cannot see it', async () => {
  render(<JsonTree value={{ a: 1, b: 2 }} />)
  const tree = screen.getByRole('tree')
  tree.focus()
  await userEvent.keyboard('{End}')
  const active = document.getElementById(tree.getAttribute('aria-activedescendant') ?? '')
  expect(active?.textContent).toContain('b')
})
