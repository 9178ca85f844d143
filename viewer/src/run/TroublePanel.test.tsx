import { screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, it, vi } from 'vitest'
import { counts, failure, metric, run } from './examples'
import { TroublePanel } from './TroublePanel'
import { draw } from './testPage'

const failures = [
  failure({ cause: 'malformed_action', count: 37, episode_id: 'e-9', task_id: 'seed-4', message: '<b>no choice</b>' }),
  failure({ cause: 'model_timeout', count: 2, valid: false }),
]

describe('TroublePanel', () => {
  it('leads to the first episode of a cause, which keeps that filter', async () => {
    await draw(<TroublePanel run={run({ failures })} chosen={[]} onChoose={() => {}} />)
    expect(screen.getByRole('link', { name: 'seed-4' })).toHaveProperty(
      'href',
      expect.stringContaining('/episodes/e-9?cause=malformed_action'),
    )
  })

  it('shows what the other side said as text', async () => {
    await draw(<TroublePanel run={run({ failures })} chosen={[]} onChoose={() => {}} />)
    expect(screen.getByText(/<b>no choice<\/b>/)).toBeTruthy()
  })

  it("shows the grader's words, and leads to the episode among those without a score", async () => {
    const ungraded = [
      {
        metric: 'goal_rate',
        cause: 'grader_error',
        episode_id: 'e-7',
        task_id: 'row 7',
        message: "ValueError: 'Paris'",
      },
    ]
    const given = run({ primary: metric({ n_scored: 96, missing: { grader_error: 4 } }), ungraded })
    await draw(<TroublePanel run={given} chosen={[]} onChoose={() => {}} />)
    expect(screen.getByText(/ValueError: 'Paris'/)).toBeTruthy()
    expect(screen.getByRole('link', { name: 'row 7' }).getAttribute('href')).toBe('/episodes/e-7?outcome=missing')
  })

  it('says whether failures count or are left out', async () => {
    await draw(<TroublePanel run={run({ failures })} chosen={[]} onChoose={() => {}} />)
    expect(screen.getByRole('button', { name: /37 Malformed action counts as worst/ })).toBeTruthy()
    expect(screen.getByRole('button', { name: /2 Model timed out excluded/ })).toBeTruthy()
  })

  it('says of failures that stay pending that they do not count', async () => {
    const pending = counts({ planned: 8, done: 0, failed: 0, owed: 8 })
    const given = run({ failures: [failure({ cause: 'workflow_failed', count: 6 })], state: 'failed', counts: pending })
    await draw(<TroublePanel run={given} chosen={[]} onChoose={() => {}} />)
    expect(screen.getByRole('button', { name: /^6 .* still pending$/ })).toBeTruthy()
    expect(screen.getByText('6 of 6 episodes')).toBeTruthy()
  })

  it('filters by a cause and shows which one is set', async () => {
    const choose = vi.fn()
    await draw(<TroublePanel run={run({ failures })} chosen={['model_timeout']} onChoose={choose} />)
    expect(screen.getByRole('button', { name: /Model timed out/ }).getAttribute('aria-pressed')).toBe('true')
    await userEvent.click(screen.getByRole('button', { name: /Malformed action/ }))
    expect(choose).toHaveBeenCalledWith('malformed_action')
  })

  it('folds rare causes away', async () => {
    const many = ['a', 'b', 'c', 'd', 'e', 'f'].map((cause) => failure({ cause }))
    await draw(<TroublePanel run={run({ failures: many })} chosen={[]} onChoose={() => {}} />)
    expect(screen.queryByRole('button', { name: /3 F / })).toBeNull()
    await userEvent.click(screen.getByRole('button', { name: '2 more causes' }))
    expect(screen.getByRole('button', { name: /3 F / })).toBeTruthy()
  })

  it('says that nothing went wrong, so far', async () => {
    await draw(
      <TroublePanel
        run={run({ state: 'running', counts: counts({ done: 4, owed: 96 }) })}
        chosen={[]}
        onChoose={() => {}}
      />,
    )
    expect(screen.getByText('0 so far; 96 are still to play.').className).toBe('muted')
  })
})
