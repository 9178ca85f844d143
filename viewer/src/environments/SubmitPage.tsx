import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { ApiError } from '../api/error'
import { ask, usePlatform } from '../api/platform'
import { Form } from '../form/Form'
import { Row } from '../form/Row'
import { SelectField } from '../form/SelectField'
import { TextArea } from '../form/TextArea'
import { TextField } from '../form/TextField'
import { Button } from '../parts/Button'
import { Command } from '../parts/Command'
import { Page } from '../parts/Page'
import { useChange } from '../platform/useChange'
import { EMPTY, type Submission, submissionBody, submissionProblems, submitCommand } from './submission'

/** The form for a new environment. */
export function SubmitPage() {
  const [given, setGiven] = useState<Submission>(EMPTY)
  const [tried, setTried] = useState(false)
  const teams = usePlatform('/v1/teams')
  const navigate = useNavigate()
  const { mutate, isPending, error } = useChange(
    () => ask('post', '/v1/developer/environments', { body: submissionBody(given) }),
    {
      silent: true,
      after: ({ id }) => void navigate({ to: '/environments/$environmentId', params: { environmentId: id } }),
    },
  )
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
      note="The same repository and folder again are its next version; runs of older versions stay as they are."
    >
      <Form
        label="Environment"
        onSubmit={submit}
        error={Object.keys(told).length > 0 ? undefined : error}
        title="It was not submitted"
        actions={
          <>
            <Button type="submit" look="primary" busy={isPending}>
              Submit
            </Button>
            <Command>{submitCommand(given)}</Command>
          </>
        }
      >
        <TextField
          label="Repository"
          hint="An https address that can be read without a password, or OWNER/REPO on GitHub. Push before you submit."
          placeholder="https://github.com/you/word-game"
          inputMode="url"
          spellCheck={false}
          value={given.github_url}
          onChange={set('github_url')}
          problem={problem('github_url')}
        />
        <TextField label="Name" maxLength={200} value={given.name} onChange={set('name')} problem={problem('name')} />
        <TextArea
          label="Description"
          optional
          hint="What it is about; people see it in the gallery."
          value={given.description}
          onChange={set('description')}
          problem={problem('description')}
        />
        <Row>
          <TextField
            label="Branch, tag or commit"
            optional
            placeholder="the default branch"
            spellCheck={false}
            value={given.ref}
            onChange={set('ref')}
            problem={problem('ref')}
          />
          <TextField
            label="Folder"
            optional
            placeholder="the root"
            spellCheck={false}
            value={given.folder}
            onChange={set('folder')}
            problem={problem('folder')}
          />
        </Row>
        <SelectField
          label="Belongs to"
          hint="Team mates can retry, resubmit and delete it as you can."
          value={given.team_id}
          onChange={set('team_id')}
          options={[
            { value: '', label: 'me alone' },
            ...(teams.data ?? []).map((team) => ({ value: team.team_id, label: team.name })),
          ]}
          problem={problem('team_id')}
        />
      </Form>
    </Page>
  )
}
