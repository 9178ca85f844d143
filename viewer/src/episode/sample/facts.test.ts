import { expect, it } from 'vitest'
import { sampleFacts } from './facts'

it('reads what a rollout left', () => {
  const facts = sampleFacts({
    terminal_info: {
      timing: { queued_s: 1, workflow_s: 2, grader_s: 0.5 },
      artifacts: 'artifacts/e1',
      metrics: { steps: 3, note: 'x' },
      grader_failure: { cause: 'grader_error', boundary: 'grader', message: 'KeyError', detail: 'Traceback' },
      blocked: { seconds: 2.5, where: 'main.py:31 in run' },
      partial: [{ role: 'user', content: 'hi' }],
      extra: {},
    },
  })
  expect(facts.timing).toEqual({ queued: 1, workflow: 2, grader: 0.5 })
  expect(facts.artifacts).toBe('artifacts/e1')
  expect(facts.metrics).toEqual([['steps', 3]])
  expect(facts.graderFailure).toMatchObject({ cause: 'grader_error', message: 'KeyError', stderr: '' })
  expect(facts.blocked).toEqual({ seconds: 2.5, where: 'main.py:31 in run' })
  expect(facts.partial).toHaveLength(1)
  expect(facts.extra).toBeNull()
})

it('takes nothing for granted', () => {
  const facts = sampleFacts({ terminal_info: { timing: 'soon', metrics: [], grader_failure: null, partial: [] } })
  expect(facts).toMatchObject({ timing: null, metrics: [], graderFailure: null, partial: null, blocked: null })
})
