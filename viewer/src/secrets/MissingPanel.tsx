import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useDocument } from '../api/query'
import { Form } from '../form/Form'
import { TextField } from '../form/TextField'
import { Badge } from '../parts/Badge'
import { Button } from '../parts/Button'
import { Loaded } from '../parts/Loaded'
import { Panel } from '../parts/Panel'
import styles from '../parts/panels.module.css'
import { TextButton } from '../parts/TextButton'
import { namesIn } from './names'

/** The names that a run needs, and where they are looked for. */
interface MissingProps {
  workspaceId: string
  needs: readonly string[]
  /** Begin to set a secret of this name. */
  onSet: (name: string) => void
}

/** Which secrets a run would lack. */
export function MissingPanel({ workspaceId, needs, onSet }: MissingProps) {
  const [text, setText] = useState(needs.join(' '))
  const navigate = useNavigate({ from: '/workspaces/$workspaceId/secrets' })
  return (
    <Panel title="What would a run lack?">
      <div className={styles.stack}>
        <Form
          label="Names that a run needs"
          onSubmit={() => void navigate({ search: { needs: namesIn(text) } })}
          actions={<Button type="submit">Check</Button>}
        >
          <TextField
            label="Names"
            hint="Those of [secrets] required in a configuration."
            spellCheck={false}
            autoCapitalize="characters"
            value={text}
            onChange={setText}
          />
        </Form>
        {needs.length > 0 && <Missing workspaceId={workspaceId} needs={needs} onSet={onSet} />}
      </div>
    </Panel>
  )
}

function Missing({ workspaceId, needs, onSet }: MissingProps) {
  const missing = useDocument('/api/workspaces/{workspace}/secrets/missing', {
    params: { workspace: workspaceId },
    query: { name: [...needs] },
  })
  return (
    <Loaded query={missing} title="The secrets could not be checked" height="3rem">
      {(found) => (
        <ul className={styles.rows} aria-label="Names that a run needs">
          {needs.map((name) => (
            <li key={name} className={styles.actions}>
              <code>{name}</code>
              {found.missing.includes(name) ? (
                <>
                  <Badge tone="bad" icon="error">
                    missing
                  </Badge>
                  <TextButton onClick={() => onSet(name)}>Set</TextButton>
                </>
              ) : (
                <Badge tone="good" icon="check">
                  set
                </Badge>
              )}
            </li>
          ))}
        </ul>
      )}
    </Loaded>
  )
}
