import { useState } from 'react'
import { put } from '../api/client'
import { ApiError } from '../api/error'
import { Check } from '../form/Check'
import { Form } from '../form/Form'
import { Row } from '../form/Row'
import { TextField } from '../form/TextField'
import { Button } from '../parts/Button'
import { useChange } from '../parts/useChange'
import { CredentialFields } from './CredentialFields'
import { credentialBody, NO_CREDENTIAL } from './credential'
import { isSsh } from './places'

/** Connect a workspace with a repository; its first sync begins at once. */
export function ConnectForm({ workspaceId }: { workspaceId: string }) {
  const [url, setUrl] = useState('')
  const [branch, setBranch] = useState('')
  const [folder, setFolder] = useState('')
  const [hidden, setHidden] = useState(false)
  const [draft, setDraft] = useState(NO_CREDENTIAL)
  const [tried, setTried] = useState(false)
  const ssh = isSsh(url)
  const credentials = ssh || hidden ? credentialBody(draft) : undefined
  const connect = useChange(
    () =>
      put('/api/workspaces/{workspace}/repository', {
        params: { workspace: workspaceId },
        body: { url: url.trim(), branch: branch.trim(), folder: folder.trim(), ...(credentials && { credentials }) },
      }),
    { silent: true, done: 'Connected. The first sync begins.' },
  )
  const fields = connect.error instanceof ApiError ? connect.error.fields : {}
  const problems = Object.fromEntries(
    Object.entries(fields).map(([name, words]) => [name.replace(/^credentials\./, ''), words]),
  )
  const missing = tried && (ssh || hidden) && !credentials ? 'Enter it.' : undefined
  return (
    <Form
      label="Connect a repository"
      onSubmit={() => {
        setTried(true)
        if (url.trim() !== '' && (credentials || !(ssh || hidden))) connect.mutate(undefined)
      }}
      error={Object.keys(fields).length > 0 ? undefined : connect.error}
      title="The repository could not be connected"
      actions={
        <Button type="submit" look="primary" busy={connect.isPending}>
          Connect
        </Button>
      }
    >
      <TextField
        label="URL"
        hint="https or SSH address of a Git repository on a host that the server allows."
        placeholder="https://github.com/you/evals"
        autoComplete="off"
        spellCheck={false}
        maxLength={500}
        value={url}
        onChange={setUrl}
        problem={problems.url ?? (tried && url.trim() === '' ? 'Enter the address of a repository.' : undefined)}
      />
      <Row>
        <TextField
          label="Branch"
          hint="The one to follow; by default that of the repository."
          placeholder="main"
          spellCheck={false}
          maxLength={250}
          optional
          value={branch}
          onChange={setBranch}
          problem={problems.branch}
        />
        <TextField
          label="Folder"
          hint="Where rollouts/ and configs/ are; by default the root."
          placeholder="evals"
          spellCheck={false}
          maxLength={500}
          optional
          value={folder}
          onChange={setFolder}
          problem={problems.folder}
        />
      </Row>
      {!ssh && (
        <Check
          label="It is private"
          hint="The server reads it with a token, which nobody can see again."
          checked={hidden}
          onChange={setHidden}
        />
      )}
      {(ssh || hidden) && (
        <CredentialFields
          draft={draft}
          onChange={setDraft}
          ssh={ssh}
          problems={{ ...(missing && { [ssh ? 'deploy_key' : 'token']: missing }), ...problems }}
        />
      )}
    </Form>
  )
}
