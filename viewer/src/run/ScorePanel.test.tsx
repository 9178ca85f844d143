import { screen } from '@testing-library/react'
import { describe, expect, it } from 'vitest'
import { counts, metric, run } from './examples'
import { ScorePanel } from './ScorePanel'
import { draw } from './testPage'

describe('ScorePanel', () => {
  it('shows the value with its interval and both denominators', async () => {
    await draw(<ScorePanel run={run({ primary: metric({ n_scored: 92, pessimistic: 0.32 }) })} />)
    expect(screen.getByText('0.350')).toBeTruthy()
    expect(screen.getByText('[0.264, 0.447]')).toBeTruthy()
    expect(screen.getByText(/n = 92\/100/)).toBeTruthy()
    expect(screen.getByText(/counted as worst: 0.320/)).toBeTruthy()
  })

  it('shows no number where there is no score', async () => {
    await draw(
      <ScorePanel run={run({ state: 'running', primary: null, metrics: [], counts: counts({ done: 0, owed: 9 }) })} />,
    )
    expect(screen.getByText(/No episode has finished yet/)).toBeTruthy()
    expect(screen.queryByText(/0\.000/)).toBeNull()
  })

  it('tells of a partial run that it has no place', async () => {
    await draw(<ScorePanel run={run({ state: 'partial' })} />)
    expect(screen.getByText(/not ranked on leaderboards/)).toBeTruthy()
  })

  it('says why another metric has no value', async () => {
    const lacking = metric({ name: 'bad', primary: false, value: null, n_scored: 0, missing: { grader_error: 3 } })
    const ungraded = [
      { metric: 'bad', cause: 'grader_error', episode_id: 'e-7', task_id: 'row 7', message: 'ValueError: no digits' },
    ]
    await draw(<ScorePanel run={run({ primary: metric({}), metrics: [metric({}), lacking], ungraded })} />)
    expect(screen.getByText(/3 .*first in/).textContent).toContain('ValueError: no digits')
    expect(screen.getByRole('link', { name: 'row 7' }).getAttribute('href')).toBe('/episodes/e-7')
  })
})
