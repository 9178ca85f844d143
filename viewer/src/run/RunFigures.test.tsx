import { screen } from '@testing-library/react'
import { expect, it } from 'vitest'
import { counts, metric, run } from './examples'
import { RunFigures } from './RunFigures'
import { draw } from './testPage'

it('counts episodes whose grader failed among the failed ones, as the list of causes does', async () => {
  const primary = metric({ n_scored: 5, n_planned: 6, missing: { grader_error: 1 } })
  await draw(<RunFigures run={run({ primary, counts: counts({ planned: 6, completed: 6, done: 6 }) })} />)
  expect(screen.getByText('1 failed')).toBeTruthy()
})
