import { screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, it } from 'vitest'
import type { Schema } from '../api/types'
import { counts, run } from './examples'
import { Notices } from './Notices'
import { draw } from './testPage'

const commands = { repeat: null, resume: 'mesocosm run resume 01a', show: 'mesocosm run show 01a' }

describe('Notices', () => {
  it('say of an interrupted run what is owed and how to go on', async () => {
    await draw(<Notices run={run({ state: 'interrupted', commands, counts: counts({ done: 40, owed: 60 }) })} />)
    expect(screen.getByText('The process of this run exited unexpectedly. 60 episodes are pending.')).toBeTruthy()
    expect(screen.getByText('mesocosm run resume 01a')).toBeTruthy()
  })

  it('say why a run was stopped in the same sentence', async () => {
    const stopped = { state: 'stopped', error: 'a stop was requested', counts: counts({ done: 99, owed: 1 }) }
    await draw(<Notices run={run({ ...stopped, state: 'stopped' })} />)
    expect(screen.getByTestId('part').textContent).toBe(
      'This run was stopped before the end: a stop was requested. 1 episode is pending.',
    )
  })

  it('shorten a long error until all of it is asked for', async () => {
    await draw(<Notices run={run({ state: 'failed', error: `adapter.py\n${'x'.repeat(900)}` })} />)
    const more = screen.getByRole('button', { name: 'More' })
    await userEvent.click(more)
    expect(more.getAttribute('aria-expanded')).toBe('true')
  })

  it('tell to mend and submit again what would fail again', async () => {
    const repeat = 'mesocosm eval submit --from 01a --branch main'
    const request = { kind: 'rollout' } as Schema<'RunRequestDocument'>
    const owed = counts({ planned: 8, done: 0, owed: 8 })
    const given = run({ state: 'failed', request, counts: owed, commands: { ...commands, resume: null, repeat } })
    await draw(<Notices run={given} />)
    expect(screen.getByText(/The same code fails again/)).toBeTruthy()
    expect(screen.getByText(repeat)).toBeTruthy()
  })

  it('are silent while all is well', async () => {
    await draw(<Notices run={run()} />)
    expect(screen.getByTestId('part').textContent).toBe('')
  })

  it('say that a run was rescored', async () => {
    await draw(<Notices run={run({ rescored: 'rescored with content b; it was played with a' })} />)
    expect(screen.getByText('Rescored with content b; it was played with a.')).toBeTruthy()
  })

  it('count warnings', async () => {
    await draw(<Notices run={run({ warnings: ['one thing', 'another'] })} />)
    expect(screen.getByText('2 warnings')).toBeTruthy()
    expect(screen.getByText('another')).toBeTruthy()
  })
})
