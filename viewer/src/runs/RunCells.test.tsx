import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, it, vi } from 'vitest'
import { ActiveFilters } from './ActiveFilters'
import { RunScore } from './RunScore'
import { RunState } from './RunState'
import { metricFixture, runFixture } from './runFixture'

describe('the score', () => {
  it('is value, interval and n', () => {
    const { container } = render(<RunScore run={runFixture({ state: 'finished' })} scale={undefined} />)
    expect(container.textContent).toContain('0.600')
    expect(container.textContent).toContain('[0.460, 0.720]')
    expect(container.textContent).toContain('n=50/100')
    expect(screen.getByLabelText('50 of 100 have no value')).toBeTruthy()
  })

  it('misses nothing while the run goes on', () => {
    render(<RunScore run={runFixture()} scale={undefined} />)
    expect(screen.queryByLabelText('50 of 100 have no value')).toBeNull()
  })

  it.each([
    [runFixture({ primary: null }), 'no score yet'],
    [runFixture({ state: 'pending', primary: null }), 'not started'],
    [
      runFixture({
        state: 'failed',
        primary: metricFixture({ value: null, n_scored: 0, missing: { environment_error: 100 } }),
      }),
      'no score: environment error',
    ],
  ])('says why there is none, and never 0', (run, words) => {
    const { container } = render(<RunScore run={run} scale={undefined} />)
    expect(container.textContent).toBe(words)
  })
})

describe('the state', () => {
  it('tells roughly what is left', () => {
    render(<RunState run={runFixture()} />)
    expect(screen.getByText('running')).toBeTruthy()
    expect(screen.getByText('~1m')).toBeTruthy()
  })

  it('tells why nothing was played', () => {
    const counts = { planned: 9, completed: 0, truncated: 0, timeout: 0, failed: 0, done: 0, owed: 9 }
    render(<RunState run={runFixture({ state: 'failed', counts, error: 'the adapter did not start' })} />)
    expect(screen.getByText('the adapter did not start')).toBeTruthy()
  })
})

describe('active filters', () => {
  it('go away one by one or all at once', async () => {
    const change = vi.fn()
    render(
      <QueryClientProvider client={new QueryClient()}>
        <ActiveFilters search={{ tag: ['a', 'b'], sort: 'name' }} onChange={change} />
      </QueryClientProvider>,
    )
    await userEvent.click(screen.getByTitle('Remove tag: a'))
    expect(change).toHaveBeenLastCalledWith({ tag: ['b'], sort: 'name' })
    await userEvent.click(screen.getByText('Clear all'))
    expect(change).toHaveBeenLastCalledWith({ sort: 'name' })
  })
})
