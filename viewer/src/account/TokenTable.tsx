import { useState } from 'react'
import { del } from '../api/client'
import { useDocument } from '../api/query'
import type { Schema } from '../api/types'
import { Button } from '../parts/Button'
import { ConfirmDialog } from '../parts/ConfirmDialog'
import { Empty } from '../parts/Empty'
import { Loaded } from '../parts/Loaded'
import { PlainTable } from '../parts/PlainTable'
import { useChange } from '../parts/useChange'
import { When } from '../parts/When'

/** One's tokens; each can be ended. */
export function TokenTable() {
  const tokens = useDocument('/api/tokens')
  const [asked, setAsked] = useState<Schema<'PersonalTokenDocument'>>()
  const remove = useChange((id: string) => del('/api/tokens/{token_id}', { params: { token_id: id } }), {
    done: 'Token revoked.',
    after: () => setAsked(undefined),
  })
  return (
    <Loaded query={tokens} title="Your tokens could not be loaded" height="6rem">
      {(found) =>
        found.length === 0 ? (
          <Empty title="No tokens yet">
            With a token, the command line and scripts act on your behalf: set <code>SWECC_BENCH_TOKEN</code> to it.
          </Empty>
        ) : (
          <>
            <PlainTable label="Table of tokens">
              <thead>
                <tr>
                  <th scope="col">Name</th>
                  <th scope="col">Scope</th>
                  <th scope="col" data-minor>
                    Last used
                  </th>
                  <th scope="col">Expires</th>
                  <th scope="col">
                    <span className="hidden-text">Actions</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {found.map((token) => (
                  <TokenRow key={token.id} token={token} onEnd={() => setAsked(token)} />
                ))}
              </tbody>
            </PlainTable>
            <ConfirmDialog
              open={asked !== undefined}
              title={`Revoke the token ${asked?.name ?? ''}?`}
              confirm="Revoke token"
              danger
              busy={remove.isPending}
              onConfirm={() => asked && remove.mutate(asked.id)}
              onClose={() => setAsked(undefined)}
            >
              <p>Scripts that use it lose access immediately. This cannot be undone.</p>
            </ConfirmDialog>
          </>
        )
      }
    </Loaded>
  )
}

function TokenRow({ token, onEnd }: { token: Schema<'PersonalTokenDocument'>; onEnd: () => void }) {
  return (
    <tr>
      <th scope="row">
        <bdi>{token.name}</bdi>
      </th>
      <td>{token.scope === 'read' ? 'read' : 'read and write'}</td>
      <td data-minor>{token.last_used_at ? <When at={token.last_used_at} /> : 'never'}</td>
      <td>{token.expires_at ? <When at={token.expires_at} /> : 'never'}</td>
      <td data-numeric>
        <Button look="quiet" onClick={onEnd} aria-label={`Revoke the token ${token.name}`}>
          Revoke
        </Button>
      </td>
    </tr>
  )
}
