import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, it, vi } from 'vitest'
import { ActiveFilters } from './ActiveFilters'
import { rangeWords, Scored } from './numbers'
import { Outcome } from './Outcome'
import { RunScore } from './RunScore'
import { RunState, stateWords } from './RunState'
import { countsFixture, metricFixture, runFixture } from './runFixture'
import { type Standing, ToBaseline } from './ToBaseline'

describe('the score', () => {
  it('is its value; interval and n stand in columns of their own', () => {
    const run = runFixture({ state: 'finished' })
    render(<RunScore run={run} />)
    expect(screen.getByText('0.600')).toBeTruthy()
    expect(rangeWords(run.primary)).toBe('0.460 – 0.720')
    const { container } = render(<Scored run={run} />)
    expect(container.textContent).toBe('50/100')
  })

  it.each([
    [runFixture({ primary: null }), 'No score yet'],
    [runFixture({ state: 'pending', primary: null }), 'Not started'],
    [
      runFixture({
        state: 'failed',
        primary: metricFixture({ value: null, n_scored: 0, missing: { environment_error: 100 } }),
      }),
      'No score: environment error',
    ],
  ])('says why there is none, and never 0', (run, words) => {
    render(<RunScore run={run} />)
    expect(document.querySelector(`[data-tip="${words}"]`)?.textContent).not.toContain('0')
  })
})

describe('the outcome', () => {
  it('is said in words with counts', () => {
    render(<Outcome run={runFixture({ state: 'stopped' })} />)
    const words = '30 passed (30%), 19 not passed (19%), 1 error (1.0%), 50 missing (50%)'
    expect(screen.getByRole('img', { name: words })).toBeTruthy()
  })

  it('is a distribution where scores are not 0 or 1', () => {
    const bins = { low: 0, high: 1, counts: [5, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 1] }
    const counts = countsFixture({ errors: 3, missing: 0 })
    const { container } = render(<Outcome run={runFixture({ state: 'finished', bins, counts })} />)
    expect(screen.getByRole('img', { name: '8 scores, 3 error' })).toBeTruthy()
    expect(container.querySelectorAll('[style]')).toHaveLength(16)
  })

  it('is how far a run is while it goes on', () => {
    render(<Outcome run={runFixture()} />)
    expect(screen.getByRole('progressbar')).toBeTruthy()
  })
})

describe('the state', () => {
  it('says nothing of a run that is done', () => {
    const counts = countsFixture({ missing: 0 })
    expect(stateWords(runFixture({ state: 'finished', counts }))).toBeUndefined()
    expect(stateWords(runFixture({ state: 'partial', counts }))).toBeUndefined()
  })

  it('tells roughly what is left', () => {
    render(<RunState run={runFixture()} />)
    expect(screen.getByText('1m 00s left')).toBeTruthy()
  })

  it('tells what stopped a run', () => {
    const counts = countsFixture({ errors: 120 })
    expect(stateWords(runFixture({ state: 'failed', counts }))?.words).toBe('stopped: 120 errors')
    expect(stateWords(runFixture({ state: 'interrupted' }))?.words).toBe('interrupted')
    expect(stateWords(runFixture({ state: 'stopped' }))?.words).toBe('stopped')
  })
})

describe('the difference to the baseline', () => {
  it.each([
    ['better', true, 'true'],
    ['worse', false, 'false'],
    ['no difference shown', null, null],
  ])('is coloured and said only where its interval excludes 0: %s', (words, better, mark) => {
    render(<ToBaseline standing={standing({ better })} />)
    expect(screen.getByText('−0.172').getAttribute('data-better')).toBe(mark)
    expect(screen.getByText(words)).toBeTruthy()
  })

  it('says why there is none', () => {
    render(
      <ToBaseline standing={standing({ state: 'other_tasks', delta: null, why: 'the baseline has other tasks' })} />,
    )
    expect(screen.getByText('other tasks').dataset.tip).toContain('The baseline has other tasks')
  })
})

function standing(changes: Partial<Standing>): Standing {
  return {
    ...{
      run_id: 'a',
      state: 'difference',
      baseline_id: 'b',
      delta: -0.172,
      low: -0.26,
      high: -0.09,
      weak: false,
      level: 0.95,
    },
    ...{ n: 100, better: null, why: 'why', floor: null, ceiling: null },
    ...changes,
  }
}

describe('active filters', () => {
  it('go away one by one or all at once', async () => {
    const change = vi.fn()
    render(
      <QueryClientProvider client={new QueryClient()}>
        <ActiveFilters search={{ tag: ['a', 'b'], sort: 'name' }} onChange={change} />
      </QueryClientProvider>,
    )
    await userEvent.click(screen.getByRole('button', { name: /tag\s*a/ }))
    expect(change).toHaveBeenLastCalledWith({ tag: ['b'], sort: 'name' })
    await userEvent.click(screen.getByText('Clear all'))
    expect(change).toHaveBeenLastCalledWith({ sort: 'name' })
  })
})
