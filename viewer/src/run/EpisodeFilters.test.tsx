import { screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, it, vi } from 'vitest'
import { EpisodeFilters } from './EpisodeFilters'
import { counts, failure, metric, run } from './examples'
import { draw } from './testPage'

const failed = run({ failures: [failure()], counts: counts({ completed: 97, failed: 3 }) })
const total = { count: 3, exact: true }

describe('EpisodeFilters', () => {
  it('offer only states that occur', async () => {
    await draw(<EpisodeFilters run={failed} search={{}} onSearch={() => {}} total={total} />)
    await userEvent.click(screen.getByRole('button', { name: 'State' }))
    expect(screen.getByRole('checkbox', { name: /failed/ })).toBeTruthy()
    expect(screen.queryByRole('checkbox', { name: /timeout/ })).toBeNull()
  })

  it('keep the other filters when one is set', async () => {
    const search = vi.fn()
    await draw(<EpisodeFilters run={failed} search={{ q: 'seed' }} onSearch={search} total={total} />)
    await userEvent.click(screen.getByRole('button', { name: 'Not passed' }))
    expect(search).toHaveBeenCalledWith({ q: 'seed', outcome: 'fail' })
  })

  it('say how many episodes fit', async () => {
    await draw(
      <EpisodeFilters
        run={failed}
        search={{ state: ['failed'] }}
        onSearch={() => {}}
        total={{ count: 3, exact: false }}
      />,
    )
    expect(screen.getByRole('status').textContent).toBe('at least 3 of 100')
  })

  it('take a range of scores away', async () => {
    const search = vi.fn()
    await draw(<EpisodeFilters run={failed} search={{ low: 0, high: 0.5 }} onSearch={search} total={total} />)
    await userEvent.click(screen.getByRole('button', { name: 'score in [0.000, 0.500]' }))
    expect(search).toHaveBeenCalledWith({})
  })

  it('offer passed and not passed only where episodes pass', async () => {
    await draw(
      <EpisodeFilters
        run={run({ primary: metric({ aggregation: 'mean' }) })}
        search={{}}
        onSearch={() => {}}
        total={total}
      />,
    )
    expect(screen.queryByRole('option', { name: 'Passed' })).toBeNull()
    expect(screen.queryByRole('button', { name: 'Passed' })).toBeNull()
  })

  it('offer causes that episodes failed of, and none of which only the score is missing', async () => {
    const graded = run({ failures: [failure()], primary: metric({ missing: { grader_error: 4 } }) })
    await draw(<EpisodeFilters run={graded} search={{}} onSearch={() => {}} total={total} />)
    await userEvent.click(screen.getByRole('button', { name: 'Cause' }))
    expect(screen.getByRole('checkbox', { name: /Malformed action/ })).toBeTruthy()
    expect(screen.queryByRole('checkbox', { name: /Grader error/ })).toBeNull()
  })

  it('offer samples that a grader skipped only where there are samples', async () => {
    const rewarded = run({ kind: 'rollout', primary: metric({ aggregation: 'mean' }) })
    await draw(<EpisodeFilters run={rewarded} search={{}} onSearch={() => {}} total={total} />)
    expect(screen.getByRole('option', { name: 'Skipped by the grader' })).toBeTruthy()
  })
})
