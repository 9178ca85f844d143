/** What a run is called, in its place on the page; `r` gives it another name. */
import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { documentQuery } from '../api/query'
import { source } from '../api/source'
import type { Schema } from '../api/types'
import { useShortcut } from '../keys/useShortcut'
import { useVisit } from '../palette/recent'
import { useToast } from '../parts/toast'
import { place } from '../place'
import { RenameField } from '../runs/RenameField'
import { fullName } from '../runs/runName'
import { useCompare } from '../runs/useCompare'
import { isRollout } from './results/rollout'
import { runQuery } from './useRun'

export function RunTitle({ run }: { run: Schema<'RunDetail'> }) {
  const [renaming, setRenaming] = useState(false)
  const client = useQueryClient()
  useVisit('run', run.id, fullName(run))
  useRunKeys(run)
  useShortcut('r', 'Rename this run', () => setRenaming(true), {
    group: 'Run',
    enabled: source.live && !renaming && (place.mode !== 'server' || run.may_change === true),
  })
  if (!renaming) return <bdi>{run.name.trim() || `${run.benchmark_title || run.benchmark}`}</bdi>
  return (
    <RenameField
      run={run}
      onDone={(changed) => {
        setRenaming(false)
        if (changed) void client.invalidateQueries({ queryKey: runQuery(run.id).queryKey })
      }}
    />
  )
}

/** `w` shows what it got wrong, `b` compares it with the run that lists compare it with. */
function useRunKeys(run: Schema<'RunDetail'>): void {
  const navigate = useNavigate()
  const client = useQueryClient()
  const compare = useCompare()
  const toast = useToast()
  const group = 'Run'
  useShortcut(
    'w',
    'Show the wrong answers',
    () => {
      const search = { outcome: 'fail' as const, ...(isRollout(run) ? { tab: 'samples' as const } : {}) }
      void navigate({ to: '/runs/$runId', params: { runId: run.id }, search })
    },
    { group },
  )
  const toBaseline = async () => {
    try {
      const { items } = await client.fetchQuery(documentQuery('/api/runs/baseline', { query: { run: [run.id] } }))
      const baseline = items[0]?.baseline_id
      if (baseline && baseline !== run.id) compare([baseline, run.id])
      else
        toast({ text: baseline ? 'This run is the baseline of its benchmark.' : 'There is no run to compare it with.' })
    } catch (error) {
      toast({ text: error instanceof Error ? error.message : 'The baseline could not be read.', tone: 'bad' })
    }
  }
  useShortcut('b', 'Compare with the baseline', () => void toBaseline(), { group, enabled: source.live })
}
