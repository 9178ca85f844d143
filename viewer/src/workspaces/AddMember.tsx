import { useState } from 'react'
import { post } from '../api/client'
import { ApiError } from '../api/error'
import type { Schema } from '../api/types'
import { Form } from '../form/Form'
import { SelectField } from '../form/SelectField'
import { TextField } from '../form/TextField'
import { Button } from '../parts/Button'
import { useChange } from '../parts/useChange'
import { useMe } from '../session/useMe'
import { mayAs, ROLES, type WorkspaceRole } from './roles'

/** A form that adds a user of the server to a workspace. */
export function AddMember({ workspace }: { workspace: Schema<'WorkspaceDocument'> }) {
  const [username, setUsername] = useState('')
  const [role, setRole] = useState<WorkspaceRole>('member')
  const [tried, setTried] = useState(false)
  const me = useMe()
  const add = useChange(
    () =>
      post('/api/workspaces/{workspace}/members', {
        params: { workspace: workspace.id },
        body: { username: username.trim(), role },
      }),
    {
      silent: true,
      done: `Added ${username.trim()} to the workspace.`,
      after: () => {
        setUsername('')
        setTried(false)
      },
    },
  )
  const told = add.error instanceof ApiError ? add.error.fields.username : undefined
  return (
    <Form
      onSubmit={() => {
        setTried(true)
        if (username.trim() !== '') add.mutate(undefined)
      }}
      error={told ? undefined : add.error}
      title="The user could not be added"
      actions={
        <Button type="submit" busy={add.isPending}>
          Add member
        </Button>
      }
    >
      <TextField
        label="User name"
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        maxLength={64}
        value={username}
        onChange={setUsername}
        problem={told ?? (tried && username.trim() === '' ? 'Enter a user name.' : undefined)}
      />
      <SelectField
        label="Role"
        value={role}
        onChange={(value) => setRole(value as WorkspaceRole)}
        options={ROLES.filter(({ value }) => value !== 'owner' || mayAs('owner', workspace, me))}
      />
    </Form>
  )
}
