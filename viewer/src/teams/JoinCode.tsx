import { useState } from 'react'
import { post } from '../api/client'
import type { Schema } from '../api/types'
import { Button } from '../parts/Button'
import { ConfirmDialog } from '../parts/ConfirmDialog'
import { CopyButton } from '../parts/CopyButton'
import panels from '../parts/panels.module.css'
import { useChange } from '../parts/useChange'
import styles from './JoinCode.module.css'

/** The code that lets people in, and the link that carries it. */
export function JoinCode({ team }: { team: Schema<'TeamDocument'> }) {
  const [asked, setAsked] = useState(false)
  const renew = useChange(
    () => post('/api/teams/{team_id}/join-code/regenerate', { params: { team_id: team.team_id } }),
    { done: 'Join code replaced. The old code no longer works.', after: () => setAsked(false) },
  )
  const code = team.join_code
  if (!code) return <p className="muted">Only the owner of the team can see its join code.</p>
  return (
    <div className={panels.stack}>
      <p className={styles.code}>
        <code>{code}</code>
        <CopyButton text={code} label="Copy code" />
      </p>
      <p className="muted">Anyone with the code can join until the team is full.</p>
      <div className={panels.actions}>
        <CopyButton
          look="words"
          label="Copy invitation link"
          text={() => new URL(`./teams?join=${encodeURIComponent(code)}`, document.baseURI).href}
        />
        <Button icon="refresh" onClick={() => setAsked(true)}>
          Replace code
        </Button>
      </div>
      <ConfirmDialog
        open={asked}
        title="Replace the join code?"
        confirm="Replace code"
        busy={renew.isPending}
        onConfirm={() => renew.mutate(undefined)}
        onClose={() => setAsked(false)}
      >
        <p>The old code and its links stop working immediately. Current members stay in the team.</p>
      </ConfirmDialog>
    </div>
  )
}
