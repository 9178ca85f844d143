import { QueryObserver } from '@tanstack/react-query'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { ApiError } from './error'
import { AGAIN_MS, openCache } from './query'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** Ask with answers in turn; returns how often it was asked, and what is shown. */
function asking(...answers: readonly (Error | string)[]) {
  const asked = vi.fn(async () => {
    const next = answers[Math.min(asked.mock.calls.length, answers.length) - 1]
    if (typeof next === 'string') return next
    throw next
  })
  const observer = new QueryObserver(openCache(), { queryKey: ['estimate'], queryFn: asked, retry: false })
  return { asked, observer, leave: observer.subscribe(() => {}) }
}

const AWAY = () => new ApiError(0, 'unreachable', 'The server is not responding.')

it('asks again until the server is back', async () => {
  const { observer, leave } = asking(AWAY(), AWAY(), 'an estimate')
  await vi.advanceTimersByTimeAsync(0)
  expect(observer.getCurrentResult().error).toBeInstanceOf(ApiError)
  await vi.advanceTimersByTimeAsync(AGAIN_MS)
  expect(observer.getCurrentResult().isError).toBe(true)
  await vi.advanceTimersByTimeAsync(AGAIN_MS)
  expect(observer.getCurrentResult()).toMatchObject({ data: 'an estimate', error: null })
  leave()
})

it('does not ask again for what was refused', async () => {
  const { asked, leave } = asking(new ApiError(422, 'invalid', 'num_episodes: must be positive'))
  await vi.advanceTimersByTimeAsync(10 * AGAIN_MS)
  expect(asked).toHaveBeenCalledTimes(1)
  leave()
})

it('does not ask again for what nobody sees any more', async () => {
  const { asked, leave } = asking(AWAY())
  await vi.advanceTimersByTimeAsync(0)
  leave()
  await vi.advanceTimersByTimeAsync(10 * AGAIN_MS)
  expect(asked).toHaveBeenCalledTimes(1)
})
