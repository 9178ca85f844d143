import { Row } from '../form/Row'
import { TextArea } from '../form/TextArea'
import { TextField } from '../form/TextField'
import { type CredentialDraft, USERNAME } from './credential'

/** What is written, whether the repository has an SSH address, and what is wrong by field. */
interface CredentialFieldsProps {
  draft: CredentialDraft
  onChange: (draft: CredentialDraft) => void
  ssh: boolean
  problems: Readonly<Record<string, string>>
}

/** A token for https, or a deploy key for SSH. What is written is sent and forgotten. */
export function CredentialFields({ draft, onChange, ssh, problems }: CredentialFieldsProps) {
  const set = (name: keyof CredentialDraft) => (value: string) => onChange({ ...draft, [name]: value })
  return (
    <>
      {ssh && (
        <>
          <TextArea
            label="Deploy key"
            hint={
              <>
                The private half of a key without a passphrase (<code>ssh-keygen -t ed25519 -N ''</code>). Its public
                half belongs into the settings of the repository.
              </>
            }
            rows={3}
            placeholder="-----BEGIN OPENSSH PRIVATE KEY-----"
            value={draft.deployKey}
            onChange={set('deployKey')}
            problem={problems.deploy_key}
          />
          <TextArea
            label="Host keys"
            hint={
              <>
                Lines of your <code>known_hosts</code> file for this host, as <code>ssh-keygen -F HOST</code> prints
                them.
              </>
            }
            rows={2}
            value={draft.hostKeys}
            onChange={set('hostKeys')}
            problem={problems.host_keys}
          />
        </>
      )}
      <Row>
        <TextField
          label="Token"
          hint={
            ssh
              ? 'For commit statuses, if the host has them.'
              : 'May read the repository; for commit statuses, also set those.'
          }
          type="password"
          autoComplete="off"
          spellCheck={false}
          optional={ssh}
          value={draft.token}
          onChange={set('token')}
          problem={problems.token}
        />
        <TextField
          label="User name"
          hint="Only if the host asks for a certain one."
          placeholder={USERNAME}
          autoComplete="off"
          spellCheck={false}
          optional
          value={draft.username}
          onChange={set('username')}
          problem={problems.username}
        />
      </Row>
    </>
  )
}
