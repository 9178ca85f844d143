import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { del, post } from '../api/client'
import type { Schema } from '../api/types'
import { Button } from '../parts/Button'
import { ConfirmDialog } from '../parts/ConfirmDialog'
import { Menu } from '../parts/Menu'
import { useChange } from '../parts/useChange'
import { building } from './stages'

/** What can be done to an environment. */
export function EnvironmentActions({ environment }: { environment: Schema<'SubmittedEnvironment'> }) {
  const [asked, setAsked] = useState(false)
  const navigate = useNavigate()
  const params = { environment_id: environment.id }
  const going = building(environment.status)
  const retry = useChange(() => post('/api/environments/{environment_id}/retry', { params }), {
    done: 'Build started.',
  })
  const resubmit = useChange(() => post('/api/environments', { body: sameAgain(environment) }), {
    done: 'Build of the next version started.',
  })
  const remove = useChange(() => del('/api/environments/{environment_id}', { params }), {
    done: `Deleted ${environment.name}.`,
    after: () => void navigate({ to: '/environments' }),
  })
  return (
    <>
      {environment.status === 'failed' && (
        <Button icon="refresh" look="primary" busy={retry.isPending} onClick={() => retry.mutate(undefined)}>
          Try again
        </Button>
      )}
      <Menu
        label="More"
        icon="menu"
        small
        items={[
          {
            label: 'Submit the latest commit',
            icon: 'refresh',
            note: 'Builds the next version',
            disabled: going,
            onChoose: () => resubmit.mutate(undefined),
          },
          { label: 'Delete…', icon: 'trash', danger: true, onChoose: () => setAsked(true) },
        ]}
      />
      <ConfirmDialog
        open={asked}
        title={`Delete ${environment.name}?`}
        confirm="Delete"
        danger
        busy={remove.isPending}
        onConfirm={() => remove.mutate(undefined)}
        onClose={() => setAsked(false)}
      >
        <p>
          Its domain is archived, its public runs become private, and active runs in it are stopped. This cannot be
          undone.
        </p>
      </ConfirmDialog>
    </>
  )
}

function sameAgain({ name, description, github_url, team_id, ref, folder }: Schema<'SubmittedEnvironment'>) {
  return {
    name,
    github_url,
    description: description ?? '',
    team_id: team_id ?? null,
    ref: ref ?? null,
    folder: folder ?? null,
  }
}
