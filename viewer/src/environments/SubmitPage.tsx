import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { post } from '../api/client'
import { ApiError } from '../api/error'
import { Form } from '../form/Form'
import { Button } from '../parts/Button'
import { Command } from '../parts/Command'
import { Page } from '../parts/Page'
import { useChange } from '../parts/useChange'
import { SubmissionFields } from './SubmissionFields'
import { EMPTY, type Submission, submissionBody, submissionProblems, submitCommand } from './submission'

/** The form for a new environment. */
export function SubmitPage() {
  const [given, setGiven] = useState<Submission>(EMPTY)
  const [tried, setTried] = useState(false)
  const navigate = useNavigate()
  const { mutate, isPending, error } = useChange(() => post('/api/environments', { body: submissionBody(given) }), {
    silent: true,
    after: ({ id }) => void navigate({ to: '/environments/$environmentId', params: { environmentId: id } }),
  })
  const own = submissionProblems(given)
  const told: Record<string, string> = error instanceof ApiError ? error.fields : {}
  const problem = (name: keyof Submission) => told[name] ?? (tried ? own[name] : undefined)
  const set = (name: keyof Submission) => (value: string) => setGiven((before) => ({ ...before, [name]: value }))
  const submit = () => {
    setTried(true)
    if (Object.keys(own).length === 0) mutate(undefined)
  }
  return (
    <Page
      title="Submit an environment"
      trail={<Link to="/environments">Environments</Link>}
      note="Submitting the same repository and folder again creates the next version. Runs of older versions are kept."
    >
      <Form
        label="Environment"
        onSubmit={submit}
        error={Object.keys(told).length > 0 ? undefined : error}
        title="The environment could not be submitted"
        actions={
          <>
            <Button type="submit" look="primary" busy={isPending}>
              Submit
            </Button>
            <Command>{submitCommand(given)}</Command>
          </>
        }
      >
        <SubmissionFields given={given} set={set} problem={problem} />
      </Form>
    </Page>
  )
}
