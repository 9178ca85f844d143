import { useState } from 'react'
import { put } from '../api/client'
import { ApiError } from '../api/error'
import type { Schema } from '../api/types'
import { Choice } from '../form/Choice'
import { Form } from '../form/Form'
import { TextArea } from '../form/TextArea'
import { TextField } from '../form/TextField'
import { Button } from '../parts/Button'
import { useChange } from '../parts/useChange'
import { nameFault } from './names'

type Scope = Schema<'WorkspaceSecret'>['scope']

/** Where a secret is set; `given` is what it begins with. */
interface SecretFormProps {
  workspaceId: string
  manages: boolean
  given?: { name: string; scope: Scope }
}

/** Set a secret. Its value is sent and forgotten. */
export function SecretForm({ workspaceId, manages, given }: SecretFormProps) {
  const [name, setName] = useState(given?.name ?? '')
  const [scope, setScope] = useState<Scope>(given?.scope ?? 'personal')
  const [value, setValue] = useState('')
  const [tried, setTried] = useState(false)
  const set = useChange(
    () => {
      const request = { params: { workspace: workspaceId, name: name.trim() }, body: { value } }
      return scope === 'personal'
        ? put('/api/workspaces/{workspace}/secrets/personal/{name}', request)
        : put('/api/workspaces/{workspace}/secrets/workspace/{name}', request)
    },
    {
      silent: true,
      done: `Set ${name.trim()} for ${scope === 'personal' ? 'your runs' : 'every run'}.`,
      after: () => {
        setName('')
        setValue('')
        setTried(false)
      },
    },
  )
  const told = set.error instanceof ApiError ? set.error.fields.value : undefined
  return (
    <Form
      label="Set a secret"
      onSubmit={() => {
        setTried(true)
        if (nameFault(name.trim()) === undefined && value !== '') set.mutate(undefined)
      }}
      error={told ? undefined : set.error}
      title="The secret could not be set"
      actions={
        <Button type="submit" busy={set.isPending}>
          Set secret
        </Button>
      }
    >
      <TextField
        label="Name"
        hint="Name of the variable that runs get."
        placeholder="OPENAI_API_KEY"
        autoComplete="off"
        autoCapitalize="characters"
        spellCheck={false}
        maxLength={128}
        value={name}
        onChange={setName}
        problem={tried ? nameFault(name.trim()) : undefined}
      />
      <TextArea
        label="Value"
        hint="Stored encrypted, and never shown again. May have several lines."
        rows={2}
        value={value}
        onChange={setValue}
        problem={told ?? (tried && value === '' ? 'Enter a value.' : undefined)}
      />
      {manages && (
        <Choice
          label="For"
          value={scope}
          onChange={setScope}
          options={[
            { value: 'personal', label: 'your runs', hint: 'takes precedence over one for every run' },
            { value: 'workspace', label: 'every run of the workspace' },
          ]}
        />
      )}
    </Form>
  )
}
