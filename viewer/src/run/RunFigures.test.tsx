import { screen } from '@testing-library/react'
import { expect, it } from 'vitest'
import { counts, failure, metric, run } from './examples'
import { RunFigures } from './RunFigures'
import { draw } from './testPage'

it('counts episodes whose grader failed among the failed ones, as the list of causes does', async () => {
  const primary = metric({ n_scored: 5, n_planned: 6, missing: { grader_error: 1 } })
  await draw(<RunFigures run={run({ primary, counts: counts({ planned: 6, completed: 6, done: 6 }) })} />)
  expect(screen.getByText('1 error')).toBeTruthy()
})

it('counts what failed and stays pending once, as pending', async () => {
  const failures = [failure({ cause: 'workflow_failed', count: 6 })]
  await draw(<RunFigures run={run({ failures, state: 'failed', counts: counts({ planned: 8, done: 0, owed: 8 }) })} />)
  expect(screen.queryByText(/^\d+ errors?$/)).toBeNull()
  expect(screen.getByText(/8 pending, 6 of them after an error/)).toBeTruthy()
})
