import { render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { expect, it, vi } from 'vitest'
import { useShortcut } from './useShortcut'

function Page({ one, two, enabled = true }: { one: () => void; two: () => void; enabled?: boolean }) {
  useShortcut('x', 'One', one, { enabled })
  useShortcut('g r', 'Two', two)
  return <input aria-label="field" />
}

it('serves single keys and keys after each other', async () => {
  const [one, two] = [vi.fn(), vi.fn()]
  render(<Page one={one} two={two} />)
  await userEvent.keyboard('xgr')
  expect([one.mock.calls.length, two.mock.calls.length]).toEqual([1, 1])
})

it('leaves typing, modified keys and what is switched off alone', async () => {
  const one = vi.fn()
  const { rerender } = render(<Page one={one} two={vi.fn()} />)
  await userEvent.type(screen.getByLabelText('field'), 'xx')
  await userEvent.click(document.body)
  await userEvent.keyboard('{Control>}x{/Control}')
  rerender(<Page one={one} two={vi.fn()} enabled={false} />)
  await userEvent.keyboard('x')
  expect(one).not.toHaveBeenCalled()
})

it('is gone with the component', async () => {
  const one = vi.fn()
  render(<Page one={one} two={vi.fn()} />).unmount()
  await userEvent.keyboard('x')
  expect(one).not.toHaveBeenCalled()
})

it('serves keys of Control and functions in fields too, apart from those with Shift', async () => {
  const [next, before, open] = [vi.fn(), vi.fn(), vi.fn()]
  function Hits() {
    useShortcut('F3', 'Next hit', next)
    useShortcut('Shift+F3', 'Previous hit', before)
    useShortcut('Mod+k', 'Open', open)
    return <input aria-label="field" />
  }
  render(<Hits />)
  await userEvent.type(screen.getByLabelText('field'), '{F3}{F3}{Shift>}{F3}{/Shift}{Control>}k{/Control}')
  expect([next, before, open].map(({ mock }) => mock.calls.length)).toEqual([2, 1, 1])
})
