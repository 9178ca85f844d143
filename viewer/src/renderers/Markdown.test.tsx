import { render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { expect, test } from 'vitest'
import { History } from '../reviews/History'
import { Markdown } from './Markdown'
import { Prose } from './Prose'

const HOSTILE = [
  '<img src=x onerror="window.__ran=1"><script>window.__ran=1</script>',
  '[a](javascript:window.__ran=1) [b](JaVaScRiPt:alert(1)) [c](data:text/html,<script>1</script>) [d](//evil.example)',
  '[e](https://user@evil.example/) ![f](https://evil.example/p.png) <a href="https://evil.example" onclick="x">g</a>',
  '[h][r]\n\n[r]: vbscript:x',
]

test.each(HOSTILE)('hostile Markdown with links makes no element that acts or loads: %s', (text) => {
  const { container } = render(<Markdown text={text} links />)
  expect(container.querySelector('img, script, iframe, [onclick], [onerror], [style]')).toBeNull()
  expect(container.querySelector('a')).toBeNull()
})

test('web addresses that people wrote can be followed, without telling where from', () => {
  render(<Markdown text={'See [the paper](https://example.org/a?b=1).\nSecond line'} links />)
  const link = screen.getByRole('link', { name: 'the paper' })
  expect(link.getAttribute('rel')).toBe('noopener noreferrer nofollow')
  expect(link.getAttribute('href')).toBe('https://example.org/a?b=1')
  expect(document.querySelector('br')).not.toBeNull()
})

test('a note of a verdict is Markdown', () => {
  const verdict = { id: 'v', author: 'ada', answer: 'right', current: true, withdrawn: false, labels: {}, step: '' }
  const rest = { note: `**bold** ${HOSTILE[0]}`, round_name: '', at: '2026-01-01T00:00:00Z' }
  const { container } = render(<History verdicts={[{ ...verdict, ...rest } as never]} />)
  expect(container.querySelector('strong')?.textContent).toBe('bold')
  expect(container.querySelector('img, script')).toBeNull()
})

test('what looks like Markdown can be seen as text', async () => {
  render(<Prose text={'# Plan\n\n**first** this'} />)
  expect(screen.getByText('first').tagName).toBe('STRONG')
  await userEvent.click(screen.getByRole('button', { name: 'Show as text' }))
  expect(screen.queryByText('first')).toBeNull()
  expect(document.body.textContent).toContain('**first** this')
})
