import { fireEvent, screen } from '@testing-library/react'
import { expect, it, vi } from 'vitest'
import { failure, run } from '../examples'
import { draw } from '../testPage'
import { results } from './examples'
import { OutcomePanel } from './OutcomePanel'
import { StagePanel } from './StagePanel'
import { justBelow } from './words'

const RUN = run({ kind: 'rollout', failures: [failure({ cause: 'workflow_failed', count: 3 })] })
const FOUND = results({ failures: [{ stage: 'workflow', cause: 'workflow_failed', count: 3, valid: true }] })

it('a failure leads to its samples', async () => {
  const onSearch = vi.fn()
  await draw(<StagePanel run={RUN} results={FOUND} search={{ slice: 'x' }} onSearch={onSearch} />)
  fireEvent.click(screen.getByRole('button', { name: /Workflow Workflow failed.*3/ }))
  expect(onSearch).toHaveBeenCalledWith({ tab: 'samples', cause: ['workflow_failed'], slice: 'x' })
})

it('a run without failures says so', async () => {
  await draw(<StagePanel run={RUN} results={results()} search={{}} onSearch={vi.fn()} />)
  expect(screen.getByText('No failures.')).toBeTruthy()
})

it('samples that did not pass are those below the threshold, and not those that reached it', async () => {
  const onSearch = vi.fn()
  await draw(<OutcomePanel run={RUN} results={FOUND} search={{}} onSearch={onSearch} />)
  fireEvent.click(screen.getByRole('button', { name: /^20 not passed/ }))
  expect(onSearch).toHaveBeenCalledWith({ tab: 'samples', high: justBelow(1) })
})
