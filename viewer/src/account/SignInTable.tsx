import { useState } from 'react'
import { del } from '../api/client'
import { useDocument } from '../api/query'
import type { Schema } from '../api/types'
import { Badge } from '../parts/Badge'
import { Button } from '../parts/Button'
import { ConfirmDialog } from '../parts/ConfirmDialog'
import { Loaded } from '../parts/Loaded'
import { PlainTable } from '../parts/PlainTable'
import { useChange } from '../parts/useChange'
import { When } from '../parts/When'
import { deviceWords } from './device'

type SignIn = Schema<'SessionDocument'>

/** Where one is signed in; each can be ended but the one that one looks from, which has its own button. */
export function SignInTable() {
  const sessions = useDocument('/api/sessions')
  const [asked, setAsked] = useState<SignIn>()
  const end = useChange((id: string) => del('/api/sessions/{session_id}', { params: { session_id: id } }), {
    done: 'Signed out.',
    after: () => setAsked(undefined),
  })
  return (
    <Loaded query={sessions} title="Your sessions could not be loaded" height="6rem">
      {(found) => (
        <>
          <PlainTable label="Table of sessions">
            <thead>
              <tr>
                <th scope="col">Device</th>
                <th scope="col" data-minor>
                  Signed in
                </th>
                <th scope="col">Expires</th>
                <th scope="col">
                  <span className="hidden-text">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {found.map((one) => (
                <SignInRow key={one.id} one={one} onEnd={() => setAsked(one)} />
              ))}
            </tbody>
          </PlainTable>
          <ConfirmDialog
            open={asked !== undefined}
            title={`Sign out of ${asked ? deviceWords(asked) : ''}?`}
            confirm="Sign out"
            danger
            busy={end.isPending}
            onConfirm={() => asked && end.mutate(asked.id)}
            onClose={() => setAsked(undefined)}
          >
            <p>This session ends immediately. If you do not recognize it, change your password too.</p>
          </ConfirmDialog>
        </>
      )}
    </Loaded>
  )
}

function SignInRow({ one, onEnd }: { one: SignIn; onEnd: () => void }) {
  return (
    <tr>
      <th scope="row" data-full={one.label || undefined} data-breaks>
        <bdi>{deviceWords(one)}</bdi> {one.here && <Badge tone="good">this browser</Badge>}
      </th>
      <td data-minor>
        <When at={one.created_at} />
      </td>
      <td>
        <When at={one.expires_at} />
      </td>
      <td data-numeric>
        {!one.here && (
          <Button look="quiet" onClick={onEnd} aria-label={`Sign out of ${deviceWords(one)}`}>
            Sign out
          </Button>
        )}
      </td>
    </tr>
  )
}
