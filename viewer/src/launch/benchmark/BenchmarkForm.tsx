/** A form for runs of a benchmark, one for each of several models, with what they would come to beside it. */

import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { post } from '../../api/client'
import { documentQuery, useDocument } from '../../api/query'
import type { Schema } from '../../api/types'
import { plural } from '../../format'
import { Panel } from '../../parts/Panel'
import panels from '../../parts/panels.module.css'
import { useChange } from '../../parts/useChange'
import { useMe } from '../../session/useMe'
import { mayAs } from '../../workspaces/roles'
import type { LaunchSearch } from '../search'
import styles from './benchmark.module.css'
import { type BenchmarkDraft, bodiesOf, draftProblems, FRESH, type Submitted, settable, submitAll } from './draft'
import { ForecastSide } from './ForecastSide'
import { ModelChoice } from './ModelChoice'
import { NameFields } from './NameFields'
import { useForecast } from './useForecast'
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

const NOTHING: Submitted = { runs: [], refused: [] }

export function BenchmarkForm({ benchmarks, models, workspaces, search }: BenchmarkFormProps) {
  const me = useMe()
  const working = workspaces.filter((one) => mayAs('member', one, me))
  const [draft, setDraft] = useState<BenchmarkDraft>(() => begin(benchmarks, working, search))
  const [tried, setTried] = useState(false)
  const [before, setBefore] = useState(NOTHING)
  const navigate = useNavigate()
  const detail = useQuery({
    ...documentQuery('/api/benchmarks/{benchmark_id}', { params: { benchmark_id: draft.benchmark } }),
    enabled: draft.benchmark !== '',
  })
  const parameters = detail.data?.parameters ?? []
  const own = draftProblems(draft, settable(parameters))
  const ready = Object.keys(own).length === 0
  const bodies = bodiesOf(draft, parameters)
  const forecast = useForecast(ready ? bodies : [])
  const limits = useDocument('/api/limits').data
  const start = useChange(() => submitAll(bodies, (body) => post('/api/runs', { body })), {
    silent: true,
    after: (found) => {
      setBefore(found)
      // What was refused stays chosen, to be mended and started again.
      if (found.refused.length > 0) set({ models: found.refused.map(({ model }) => model) })
      else if (found.runs.length === 1 && found.runs[0])
        void navigate({ to: '/runs/$runId', params: { runId: found.runs[0].id } })
      else void navigate({ to: '/', search: { benchmark: [draft.benchmark] } })
    },
  })
  const set = (change: Partial<BenchmarkDraft>) => setDraft((now) => ({ ...now, ...change }))
  const part: PartProps = { draft, problems: tried ? own : visible(own), set }
  const submit = () => {
    setTried(true)
    if (ready && !start.isPending) start.mutate(undefined)
  }
  return (
    <form
      aria-label="New runs of a benchmark"
      className={styles.form}
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        submit()
      }}
      onKeyDown={(event) => {
        if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
        event.preventDefault()
        submit()
      }}
    >
      <div className={panels.stack}>
        <Panel title="What">
          <WhatFields {...part} benchmarks={benchmarks} workspaces={working} detail={detail.data} />
        </Panel>
        <Panel title="Models" note={`${plural(draft.models.length, 'model')} chosen, one run each`} flush>
          <ModelChoice {...part} models={models} forecast={forecast.data} />
        </Panel>
        <Panel title="Name">
          <NameFields {...part} />
        </Panel>
      </div>
      <ForecastSide
        {...part}
        ready={ready}
        tried={tried}
        forecast={forecast}
        limits={limits}
        busy={start.isPending}
        error={start.error}
        before={before}
      />
    </form>
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
