import { useState } from 'react'
import { Secret } from '../account/Secret'
import { post } from '../api/client'
import { Button } from '../parts/Button'
import { ConfirmDialog } from '../parts/ConfirmDialog'
import { CopyButton } from '../parts/CopyButton'
import { Panel } from '../parts/Panel'
import styles from '../parts/panels.module.css'
import { useChange } from '../parts/useChange'
import { hookAddress } from './places'
import shown from './repository.module.css'

/** The webhook by which a Git host tells of pushes; its secret is shown once. */
export function HookPanel({ workspaceId }: { workspaceId: string }) {
  const [asked, setAsked] = useState(false)
  const renew = useChange(
    () => post('/api/workspaces/{workspace}/repository/hook', { params: { workspace: workspaceId } }),
    { after: () => setAsked(false) },
  )
  const url = renew.data && hookAddress(renew.data.url, window.location.origin)
  return (
    <Panel title="Webhook">
      <div className={styles.stack}>
        <p className="muted">
          With a webhook, a push is synced at once; without, when the server next asks for new commits. Add one for push
          events at the Git host, with content type <code>application/json</code>.
        </p>
        {renew.data && url && (
          <>
            <p>
              Payload URL: <code className={shown.address}>{url}</code> <CopyButton text={url} label="Copy the URL" />
            </p>
            <Secret label="Secret" secret={renew.data.secret} />
          </>
        )}
        <div className={styles.actions}>
          <Button onClick={() => setAsked(true)}>New secret</Button>
        </div>
      </div>
      <ConfirmDialog
        open={asked}
        title="Make a new secret?"
        confirm="New secret"
        busy={renew.isPending}
        onConfirm={() => renew.mutate(undefined)}
        onClose={() => setAsked(false)}
      >
        <p>Calls with a former secret are refused from then on.</p>
      </ConfirmDialog>
    </Panel>
  )
}
