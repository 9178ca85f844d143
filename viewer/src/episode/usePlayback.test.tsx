import { act, renderHook } from '@testing-library/react'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { usePlayback } from './usePlayback'

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

function player(step: number, last: number, ready = true) {
  const onStep = vi.fn()
  const hook = renderHook((props) => usePlayback(props.step, props.last, props.ready, onStep), {
    initialProps: { step, last, ready },
  })
  return { ...hook, onStep }
}

test('playing goes to the next step in time', () => {
  const { result, onStep } = player(3, 9)
  act(() => result.current.toggle())
  act(() => vi.advanceTimersByTime(499))
  expect(onStep).not.toHaveBeenCalled()
  act(() => vi.advanceTimersByTime(1))
  expect(onStep).toHaveBeenCalledWith(4)
})

test('a step that is still being read is waited for', () => {
  const { result, onStep, rerender } = player(3, 9, false)
  act(() => result.current.toggle())
  act(() => vi.advanceTimersByTime(5_000))
  expect(onStep).not.toHaveBeenCalled()
  rerender({ step: 3, last: 9, ready: true })
  act(() => vi.advanceTimersByTime(500))
  expect(onStep).toHaveBeenCalledWith(4)
})

test('the last step ends it, and playing again begins anew', () => {
  const { result, onStep, rerender } = player(8, 9)
  act(() => result.current.toggle())
  rerender({ step: 9, last: 9, ready: true })
  expect(result.current.playing).toBe(false)
  act(() => result.current.toggle())
  expect(onStep).toHaveBeenLastCalledWith(0)
})

test('the speed is steps per second', () => {
  const { result, onStep } = player(0, 9)
  act(() => result.current.setSpeed('8'))
  act(() => result.current.toggle())
  act(() => vi.advanceTimersByTime(125))
  expect(onStep).toHaveBeenCalledWith(1)
})
