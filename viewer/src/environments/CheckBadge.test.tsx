import { render, screen } from '@testing-library/react'
import { expect, it } from 'vitest'
import { CheckBadge } from './CheckBadge'

it('says what was found wrong', () => {
  render(<CheckBadge state="failed" problems={['isolation: seed-1 plays differently']} />)
  const badge = screen.getByText('check failed').parentElement
  expect(badge?.dataset.tone).toBe('bad')
  expect(badge?.dataset.tip).toContain('isolation: seed-1 plays differently')
})

it('does not call the author’s word a success', () => {
  render(<CheckBadge state="passed" />)
  expect(screen.getByText('checked by its author').parentElement?.dataset.tone).toBe('plain')
})

it('shows a verdict that it does not know as it is', () => {
  render(<CheckBadge state="waived" />)
  expect(screen.getByText('check waived').parentElement?.dataset.tone).toBe('plain')
})
