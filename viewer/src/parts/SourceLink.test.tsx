import { render, screen } from '@testing-library/react'
import { describe, expect, it } from 'vitest'
import { SourceLink } from './SourceLink'

describe('SourceLink', () => {
  it('leads to a web address', () => {
    render(<SourceLink source="https://example.org/paper">the paper</SourceLink>)
    expect(screen.getByRole('link', { name: 'the paper' }).getAttribute('href')).toBe('https://example.org/paper')
  })

  it.each(['files of the user', 'javascript:alert(1)', 'https://example.org (revision 1)', ' https://a.b'])(
    'leaves %s as words',
    (source) => {
      render(<SourceLink source={source} />)
      expect(screen.queryByRole('link')).toBeNull()
    },
  )
})
