import { type ReactNode, useState } from 'react'
import { address } from '../api/address'
import type { Schema } from '../api/types'
import { Button } from '../parts/Button'
import { ConfirmDialog } from '../parts/ConfirmDialog'
import { LinkButton } from '../parts/LinkButton'
import { Menu, type MenuItem } from '../parts/Menu'
import { isMember } from '../session/person'
import { useMe } from '../session/useMe'
import { mayChange } from './owner'
import { isGoing, useHosted } from './useHosted'
import { useRunChanges } from './useRunChanges'

/** What can be done with a run of a server; downloads for everybody who may read it. */
export function HostedActions({ runId, onStarted }: { runId: string; onStarted: () => void }) {
  const { data: run } = useHosted(runId)
  const me = useMe()
  if (run === undefined) return null
  const everybody = (
    <>
      {me !== undefined && me.type !== 'anonymous' && (
        <LinkButton
          to="/new-run"
          search={{ domain: run.config.domain_id, model: run.config.agent_config.model }}
          icon="plus"
        >
          Run again
        </LinkButton>
      )}
      <Menu label="Download" icon="download" items={downloads(runId)} />
    </>
  )
  if (!mayChange(run, me)) return everybody
  return (
    <OwnActions run={run} member={isMember(me)} onStarted={onStarted}>
      {everybody}
    </OwnActions>
  )
}

interface OwnActionsProps {
  run: Schema<'Run'>
  member: boolean
  onStarted: () => void
  /** What everybody can do stands between what is urgent and what is rare. */
  children: ReactNode
}

function OwnActions({ run, member, onStarted, children }: OwnActionsProps) {
  const [asked, setAsked] = useState<'public' | 'delete'>()
  const close = () => setAsked(undefined)
  const { cancel, resume, show, remove } = useRunChanges(run.id, { close, onStarted })
  const open = run.visibility === 'gallery_public'
  const ended = run.status === 'failed' || run.status === 'cancelled'
  const items: MenuItem[] = [
    open
      ? { label: 'Make private', note: 'Removes it from the gallery', onChoose: () => show.mutate('private') }
      : { label: 'Make public…', onChoose: () => setAsked('public') },
    { label: 'Delete…', icon: 'trash', danger: true, disabled: isGoing(run), onChoose: () => setAsked('delete') },
  ]
  return (
    <>
      {isGoing(run) && (
        <Button icon="stop" busy={cancel.isPending} onClick={() => cancel.mutate(undefined)}>
          Cancel
        </Button>
      )}
      {ended && (
        <Button icon="play" look="primary" busy={resume.isPending} onClick={() => resume.mutate(undefined)}>
          Resume
        </Button>
      )}
      {children}
      <Menu label="More" icon="menu" small items={member ? items : items.slice(1)} />
      <ConfirmDialog
        open={asked !== undefined}
        title={asked === 'delete' ? 'Delete this run?' : 'Make this run public?'}
        confirm={asked === 'delete' ? 'Delete' : 'Make public'}
        danger={asked === 'delete'}
        busy={show.isPending || remove.isPending}
        onConfirm={() => (asked === 'delete' ? remove.mutate(undefined) : show.mutate('gallery_public'))}
        onClose={close}
      >
        <p>
          {asked === 'delete'
            ? 'All its recorded data is deleted. This cannot be undone.'
            : 'Once it has completed, its score and episodes are public in the gallery and it counts for the leaderboard. Prompts, reasoning and replies stay hidden. You can make it private again.'}
        </p>
      </ConfirmDialog>
    </>
  )
}

function downloads(runId: string): MenuItem[] {
  const params = { run_id: runId }
  return [
    {
      label: 'Replay JSON',
      icon: 'file',
      note: 'For mesocosm import and other tools',
      href: address('/api/runs/{run_id}/export', params),
    },
    {
      label: 'CSV of episodes',
      icon: 'file',
      note: 'One line per episode',
      href: address('/api/runs/{run_id}/episodes.csv', params),
    },
  ]
}
