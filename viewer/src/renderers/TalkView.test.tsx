import { render, screen } from '@testing-library/react'
import { expect, it } from 'vitest'
import { TalkView } from './TalkView'

it.each(['overseer', 'constructor'])('a message of a role that is not known is shown under its word: %s', (role) => {
  render(<TalkView talk={{ role, parts: [{ kind: 'text', text: 'hello' }], calls: [] }} />)
  expect(screen.getByRole('article', { name: `Message of ${role}` }).textContent).toContain('hello')
})
