/** What can be done to a run; hidden where no server could do it. */

import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { address } from '../api/address'
import { source } from '../api/source'
import type { Schema } from '../api/types'
import { plural } from '../format'
import { Button } from '../parts/Button'
import { Menu, type MenuItem } from '../parts/Menu'
import { DeleteDialog } from '../runs/DeleteDialog'
import { TagDialog } from '../runs/TagDialog'
import { isGoing } from './headline'
import { unitOf } from './results/rollout'
import { ScanDialog } from './ScanDialog'
import { type Action, useRunActions } from './useRunActions'

interface RunActionsProps {
  run: Schema<'RunDetail'>
  /** Another process has taken up work: the page should listen. */
  onStarted: () => void
}

export function RunActions({ run, onStarted }: RunActionsProps) {
  const [asked, setAsked] = useState<'tags' | 'delete' | 'scan'>()
  const navigate = useNavigate()
  const close = () => setAsked(undefined)
  const actions = useRunActions(run.id, onStarted)
  if (!source.live) return null
  const going = isGoing(run)
  const { owed } = run.counts
  const more = moreItems(run, actions, setAsked)
  return (
    <>
      {going && (
        <Button icon="stop" busy={actions.stop.busy} disabled={run.stop_requested} onClick={() => actions.stop.run()}>
          {run.stop_requested ? 'Stopping…' : 'Stop'}
        </Button>
      )}
      {!going && owed > 0 && (
        <Button icon="play" look="primary" busy={actions.resume.busy} onClick={() => actions.resume.run(false)}>
          Resume
        </Button>
      )}
      <Menu label="Download" icon="download" items={downloads(run.id)} offered />
      <Menu label="More" icon="menu" small items={more} offered />
      {asked === 'scan' && <ScanDialog run={run} onClose={close} />}
      {asked === 'tags' && <TagDialog runs={[run]} onClose={close} onDone={() => void actions.fresh().then(close)} />}
      {asked === 'delete' && <DeleteDialog runs={[run]} onClose={close} onDone={() => void navigate({ to: '/' })} />}
    </>
  )
}

/** The files of a run. */
export function downloads(runId: string): MenuItem[] {
  const params = { run_id: runId }
  return [
    {
      label: 'Replay JSON',
      icon: 'file',
      note: 'For mesocosm import and other tools',
      href: address('/api/runs/{run_id}/export', params),
    },
    {
      label: 'Bundle',
      icon: 'file',
      note: 'All recorded data, for another results directory',
      href: address('/api/export', {}, { run: [runId] }),
    },
    {
      label: 'CSV of episodes',
      icon: 'file',
      note: 'One line per episode',
      href: address('/api/runs/{run_id}/episodes.csv', params),
    },
  ]
}

/** Ask a model about the episodes of a run, once it has ended. */
export function scanItem(run: Schema<'RunDetail'>, going: boolean, onChoose: () => void): MenuItem {
  return {
    label: 'Ask about every episode…',
    icon: 'search',
    note: 'A model reads the transcripts',
    disabled: going || run.counts.done === 0 || run.kind === 'scan',
    onChoose,
  }
}

/** Grade the recorded episodes again, once the run has ended. */
export function rescoreItem(rescore: Action, going: boolean): MenuItem {
  return {
    label: 'Rescore',
    icon: 'refresh',
    note: 'Grade the recorded episodes again',
    disabled: going || rescore.busy,
    onChoose: () => rescore.run(),
  }
}

/** Play the failed episodes of a run again, once it has ended. */
export function retryItem(run: Schema<'RunDetail'>, resume: Action<boolean>, going: boolean): MenuItem {
  const { failed } = run.counts
  const unit = unitOf(run)
  return {
    label: `Retry failed ${unit}s`,
    icon: 'play',
    note: plural(failed, `failed ${unit}`),
    disabled: going || failed === 0 || resume.busy,
    onChoose: () => resume.run(true),
  }
}

function moreItems(
  run: Schema<'RunDetail'>,
  actions: ReturnType<typeof useRunActions>,
  ask: (what: 'tags' | 'delete' | 'scan') => void,
): MenuItem[] {
  const going = isGoing(run)
  return [
    { label: 'Tags…', icon: 'tag', onChoose: () => ask('tags') },
    scanItem(run, going, () => ask('scan')),
    rescoreItem(actions.rescore, going),
    retryItem(run, actions.resume, going),
    { label: 'Delete…', icon: 'trash', danger: true, disabled: going, onChoose: () => ask('delete') },
  ]
}
