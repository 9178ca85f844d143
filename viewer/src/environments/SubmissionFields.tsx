import { useDocument } from '../api/query'
import { Row } from '../form/Row'
import { SelectField } from '../form/SelectField'
import { TextArea } from '../form/TextArea'
import { TextField } from '../form/TextField'
import type { Submission } from './submission'

/** What was written, how it changes, and what is wrong with it. */
interface SubmissionFieldsProps {
  given: Submission
  set: (name: keyof Submission) => (value: string) => void
  problem: (name: keyof Submission) => string | undefined
}

/** Where an environment comes from and what it is called. */
export function SubmissionFields({ given, set, problem }: SubmissionFieldsProps) {
  return (
    <>
      <TextField
        label="Repository"
        hint="A public https URL, or OWNER/REPO on GitHub. Push before you submit."
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
        hint="What the environment is about; shown in the gallery."
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
      <TeamField given={given} set={set} problem={problem} />
    </>
  )
}

function TeamField({ given, set, problem }: SubmissionFieldsProps) {
  const teams = useDocument('/api/teams')
  return (
    <SelectField
      label="Owner"
      hint="Team members can retry, resubmit and delete it too."
      value={given.team_id}
      onChange={set('team_id')}
      options={[
        { value: '', label: 'me' },
        ...(teams.data ?? []).map((team) => ({ value: team.team_id, label: team.name })),
      ]}
      problem={problem('team_id')}
    />
  )
}
