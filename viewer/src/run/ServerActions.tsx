import { useNavigate } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import type { Schema } from '../api/types'
import { Button } from '../parts/Button'
import { ConfirmDialog } from '../parts/ConfirmDialog'
import { LinkButton } from '../parts/LinkButton'
import { Menu, type MenuItem } from '../parts/Menu'
import { DeleteDialog } from '../runs/DeleteDialog'
import { isMember } from '../session/person'
import { useMe } from '../session/useMe'
import { isGoing, stateOf } from './headline'
import { mended } from './Notices'
import { downloads, rescoreItem, retryItem, scanItem } from './RunActions'
import { ScanDialog } from './ScanDialog'
import { useRunActions } from './useRunActions'

interface ServerActionsProps {
  run: Schema<'RunDetail'>
  onStarted: () => void
}

/** What can be done with a run of a server; everyone who may read it may download it. */
export function ServerActions({ run, onStarted }: ServerActionsProps) {
  const me = useMe()
  const everyone = (
    <>
      {me !== undefined && me.type !== 'anonymous' && run.request?.kind === 'environment' && (
        <LinkButton to="/new-run" search={{ domain: run.domain_id ?? run.benchmark, model: run.model }} icon="plus">
          Run again
        </LinkButton>
      )}
      {isMember(me) && run.request?.evaluation != null && (
        <LinkButton to="/new-run" search={{ from: run.id }} icon="plus">
          Run again
        </LinkButton>
      )}
      <Menu label="Download" icon="download" items={downloads(run.id)} offered />
    </>
  )
  if (run.may_change !== true)
    return (
      <>
        {everyone}
        {run.may_work === true && <AskOnly run={run} />}
      </>
    )
  return (
    <OwnActions run={run} member={isMember(me)} onStarted={onStarted}>
      {everyone}
    </OwnActions>
  )
}

/** What a member of the run's workspace may do with a run of somebody else. */
function AskOnly({ run }: { run: Schema<'RunDetail'> }) {
  const [asked, setAsked] = useState(false)
  const going = isGoing(run)
  return (
    <>
      <Menu label="More" icon="menu" small items={[scanItem(run, going, () => setAsked(true))]} offered />
      {asked && <ScanDialog run={run} onClose={() => setAsked(false)} />}
    </>
  )
}

interface OwnActionsProps extends ServerActionsProps {
  member: boolean
  /** What everyone can do stands between what is urgent and what is rare. */
  children: ReactNode
}

function OwnActions({ run, member, onStarted, children }: OwnActionsProps) {
  const [asked, setAsked] = useState<'public' | 'delete' | 'scan'>()
  const navigate = useNavigate()
  const close = () => setAsked(undefined)
  const { stop, resume, rescore, show } = useRunActions(run.id, onStarted)
  const open = run.visibility === 'gallery_public'
  const state = stateOf(run)
  const going = state === 'pending' || state === 'running'
  const items: MenuItem[] = [
    { label: 'Delete…', icon: 'trash', danger: true, disabled: going, onChoose: () => setAsked('delete') },
  ]
  if (run.may_work === true && run.protocol === null) items.unshift(scanItem(run, going, () => setAsked('scan')))
  // An official run keeps its scores and stays public; one that was played elsewhere is scored there and stays private.
  if (run.protocol === null && run.imported === null) {
    if (run.request !== null) items.unshift(retryItem(run, resume, going), rescoreItem(rescore, going))
    // A run of a workspace is never public.
    if (member && run.workspace_id === null)
      items.unshift(
        open
          ? { label: 'Make private', note: 'Removes it from the gallery', onChoose: () => show.run('private') }
          : { label: 'Make public…', onChoose: () => setAsked('public') },
      )
  }
  return (
    <>
      {going && (
        <Button icon="stop" busy={stop.busy} onClick={() => stop.run()}>
          Stop
        </Button>
      )}
      {!going && state !== 'finished' && run.imported === null && mended(run) === null && (
        <Button icon="play" look="primary" busy={resume.busy} onClick={() => resume.run(false)}>
          Resume
        </Button>
      )}
      {children}
      <Menu label="More" icon="menu" small items={items} offered />
      <ConfirmDialog
        open={asked === 'public'}
        title="Make this run public?"
        confirm="Make public"
        busy={show.busy}
        onConfirm={() => {
          show.run('gallery_public')
          close()
        }}
        onClose={close}
      >
        <p>
          Once it has completed, its score and episodes are public in the gallery and it counts for the leaderboard.
          Prompts, reasoning and replies stay hidden. You can make it private again.
        </p>
      </ConfirmDialog>
      {asked === 'scan' && <ScanDialog run={run} onClose={close} />}
      {asked === 'delete' && <DeleteDialog runs={[run]} onClose={close} onDone={() => void navigate({ to: '/' })} />}
    </>
  )
}
