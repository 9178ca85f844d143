import { act, renderHook } from '@testing-library/react'
import { expect, it, vi } from 'vitest'
import { usePressed } from './usePressed'

it('goes once what was waited for is there, the last press counts', () => {
  const go = vi.fn()
  const { result, rerender } = renderHook(({ waiting }) => usePressed(waiting, go), { initialProps: { waiting: true } })
  act(() => result.current('previous'))
  act(() => result.current('next'))
  expect(go).not.toHaveBeenCalled()
  rerender({ waiting: false })
  expect(go.mock.calls).toEqual([['next']])
})

it('goes at once when nothing is waited for, every time', () => {
  const go = vi.fn()
  const { result, rerender } = renderHook(() => usePressed(false, go))
  act(() => result.current('next'))
  act(() => result.current('next'))
  rerender()
  expect(go.mock.calls).toEqual([['next'], ['next']])
})
