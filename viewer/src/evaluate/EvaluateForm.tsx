/** A form for the evaluation of a rollout, with what it would come to beside it. */

import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { ApiError } from '../api/error'
import { documentQuery, useDocument } from '../api/query'
import type { Schema } from '../api/types'
import { TextArea } from '../form/TextArea'
import { plural } from '../format'
import styles from '../launch/launch.module.css'
import { ModelChoice } from '../launch/ModelChoice'
import { NameFields } from '../launch/NameFields'
import { RunsForm } from '../launch/RunsForm'
import { useRuns } from '../launch/runs'
import type { LaunchSearch } from '../launch/search'
import { Panel } from '../parts/Panel'
import { CodeFields } from './CodeFields'
import { DatasetFields } from './DatasetFields'
import { EstimateFacts } from './EstimateFacts'
import {
  bodiesOf,
  configuredIn,
  type Draft,
  draftOf,
  draftProblems,
  FRESH,
  type Problems,
  placed,
  withDefaults,
} from './evaluation'
import { useEstimate } from './useEstimate'

/** What can be chosen from, and what is chosen already. */
interface EvaluateFormProps {
  workspaces: readonly Schema<'WorkspaceDocument'>[]
  search: LaunchSearch
  /** The run that is repeated. */
  earlier?: Schema<'RunDetail'>
}

/** What every part of the form is given. */
export interface PartProps {
  draft: Draft
  set: (change: Partial<Draft>) => void
  problems: Problems
}

export function EvaluateForm({ workspaces, search, earlier }: EvaluateFormProps) {
  const [draft, setDraft] = useState<Draft>(() => begin(workspaces, search, earlier))
  const [tried, setTried] = useState(false)
  const navigate = useNavigate()
  const codes = useQuery({
    ...documentQuery('/api/workspaces/{workspace}/code', { params: { workspace: draft.workspace } }),
    enabled: draft.workspace !== '',
  })
  const known = codes.data ?? []
  const shown = withDefaults(draft, known)
  const own = draftProblems(shown)
  const ready = Object.keys(own).length === 0
  const bodies = ready ? bodiesOf(shown, known, earlier) : []
  const estimate = useEstimate(bodies[0]?.body as Schema<'RolloutInput'> | undefined)
  const limits = useDocument('/api/limits').data
  const models = useDocument('/api/models').data?.models ?? []
  const runs = useRuns(bodies, {
    ready,
    onRefused: (refused) => set({ models: refused.filter(Boolean) }),
    onStarted: ([id, ...others]) => {
      if (id && others.length === 0) void navigate({ to: '/runs/$runId', params: { runId: id } })
      else
        void navigate({ to: '/', search: { configuration: shown.configuration ? [shown.configuration] : undefined } })
    },
  })
  const set = (change: Partial<Draft>) => {
    runs.start.reset()
    setDraft((before) => ({ ...before, ...change }))
  }
  const told = placed(estimate.error instanceof ApiError ? estimate.error.fields : {}, shown)
  const part: PartProps = { draft: shown, problems: { ...told.at, ...(tried ? own : {}) }, set }
  const configured = configuredIn(shown, known)
  return (
    <RunsForm
      label="New evaluation"
      onTry={() => setTried(true)}
      runs={runs}
      tried={tried}
      workspace={shown.workspace}
      limits={limits}
      waits="Choose code and configuration."
      side={<EstimateFacts ready={ready} estimate={estimate} />}
    >
      <Panel title="What">
        <div className={styles.fields}>
          <CodeFields {...part} workspaces={workspaces} codes={codes} earlier={earlier} />
          <DatasetFields {...part} configured={configured?.dataset} />
        </div>
      </Panel>
      <Panel title="Models" note={modelsWords(shown.models.length, configured?.model)} flush>
        <ModelChoice
          chosen={shown.models}
          onChange={(chosen) => set({ models: chosen })}
          problem={part.problems.models}
          workspace={shown.workspace}
          models={models}
          forecast={runs.found}
        />
      </Panel>
      <Panel title="Name">
        <div className={styles.fields}>
          <NameFields {...part} name={shown.name} tags={shown.tags} usual="made from the configuration" />
          <TextArea
            label="Settings"
            optional
            rows={3}
            hint="In place of those of the configuration, one in a line: evaluation.pass_threshold = 0.5"
            placeholder="evaluation.pass_threshold = 0.5"
            value={shown.settings}
            onChange={(settings) => set({ settings })}
            problem={part.problems.settings}
          />
        </div>
      </Panel>
    </RunsForm>
  )
}

function modelsWords(chosen: number, configured: string | undefined): string {
  if (chosen === 0) return configured ? `as configured: ${configured}` : 'as configured'
  return `${plural(chosen, 'model')} chosen, one run each`
}

function begin(
  workspaces: readonly Schema<'WorkspaceDocument'>[],
  search: LaunchSearch,
  earlier: Schema<'RunDetail'> | undefined,
): Draft {
  const evaluation = earlier?.request?.evaluation
  if (evaluation) return draftOf(evaluation, earlier?.tags ?? [])
  const named = workspaces.find(({ id, name }) => search.workspace === id || search.workspace === name)
  return {
    ...FRESH,
    workspace: (named ?? workspaces[0])?.id ?? '',
    code: search.branch ? `branch:${search.branch}` : '',
    configuration: search.configuration ?? '',
    dataset: search.dataset ?? '',
    version: search.version ?? '',
    models: search.model ? [search.model] : [],
  }
}
