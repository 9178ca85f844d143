/** A form for runs of a benchmark, one for each of several models, with what they would come to beside it. */

import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { documentQuery, useDocument } from '../../api/query'
import type { Schema } from '../../api/types'
import { TextField } from '../../form/TextField'
import { plural } from '../../format'
import { Panel } from '../../parts/Panel'
import { useMe } from '../../session/useMe'
import { mayAs } from '../../workspaces/roles'
import { ModelChoice } from '../ModelChoice'
import { NameFields } from '../NameFields'
import { RunsForm } from '../RunsForm'
import { useRuns } from '../runs'
import type { LaunchSearch } from '../search'
import { type BenchmarkDraft, bodiesOf, draftProblems, FRESH, settable } from './draft'
import { WhatFields } from './WhatFields'

interface BenchmarkFormProps {
  benchmarks: readonly Schema<'BenchmarkSummary'>[]
  models: readonly Schema<'OfferedModel'>[]
  workspaces: readonly Schema<'WorkspaceDocument'>[]
  search: LaunchSearch
}

/** What every part of the form is given. */
export interface PartProps {
  draft: BenchmarkDraft
  set: (change: Partial<BenchmarkDraft>) => void
  problems: Partial<Record<string, string>>
}

export function BenchmarkForm({ benchmarks, models, workspaces, search }: BenchmarkFormProps) {
  const me = useMe()
  const working = workspaces.filter((one) => mayAs('member', one, me))
  const [draft, setDraft] = useState<BenchmarkDraft>(() => begin(benchmarks, working, search))
  const [tried, setTried] = useState(false)
  const navigate = useNavigate()
  const detail = useQuery({
    ...documentQuery('/api/benchmarks/{benchmark_id}', { params: { benchmark_id: draft.benchmark } }),
    enabled: draft.benchmark !== '',
  })
  const parameters = detail.data?.parameters ?? []
  const own = draftProblems(draft, settable(parameters))
  const ready = Object.keys(own).length === 0
  const bodies = bodiesOf(draft, parameters)
  const limits = useDocument('/api/limits').data
  const runs = useRuns(bodies, {
    ready,
    onRefused: (models) => set({ models }),
    onStarted: ([id, ...others]) => {
      if (id && others.length === 0) void navigate({ to: '/runs/$runId', params: { runId: id } })
      else void navigate({ to: '/', search: { benchmark: [draft.benchmark] } })
    },
  })
  const set = (change: Partial<BenchmarkDraft>) => setDraft((now) => ({ ...now, ...change }))
  const part: PartProps = { draft, problems: tried ? own : visible(own), set }
  return (
    <RunsForm
      label="New runs of a benchmark"
      onTry={() => setTried(true)}
      runs={runs}
      tried={tried}
      workspace={draft.workspace}
      limits={limits}
      waits="Choose a benchmark and models."
      stop={
        <TextField
          label="Stop each run at (USD)"
          optional
          inputMode="decimal"
          placeholder="what is left of the budgets"
          value={draft.stop}
          onChange={(stop) => set({ stop })}
          problem={part.problems.stop}
        />
      }
    >
      <Panel title="What">
        <WhatFields {...part} benchmarks={benchmarks} workspaces={working} detail={detail.data} />
      </Panel>
      <Panel title="Models" note={`${plural(draft.models.length, 'model')} chosen, one run each`} flush>
        <ModelChoice
          chosen={draft.models}
          onChange={(models) => set({ models })}
          problem={part.problems.models}
          workspace={draft.workspace}
          models={models}
          forecast={runs.found}
        />
      </Panel>
      <Panel title="Name">
        <NameFields {...part} name={draft.name} tags={draft.tags} usual="made from benchmark and model" />
      </Panel>
    </RunsForm>
  )
}

/** Problems of what was typed; what is still missing is told when it is started. */
function visible(problems: Partial<Record<string, string>>): Partial<Record<string, string>> {
  const { benchmark: _benchmark, models: _models, ...typed } = problems
  return typed
}

function begin(
  benchmarks: readonly Schema<'BenchmarkSummary'>[],
  workspaces: readonly Schema<'WorkspaceDocument'>[],
  search: LaunchSearch,
): BenchmarkDraft {
  const asked = benchmarks.find(({ id }) => id === search.benchmark)
  return {
    ...FRESH,
    benchmark: asked?.id ?? '',
    workspace: workspaces[0]?.id ?? '',
    models: search.model ? [search.model] : [],
  }
}
