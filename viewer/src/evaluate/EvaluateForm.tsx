/** A form for the evaluation of a rollout, with what it would come to beside it. */

import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { post } from '../api/client'
import { ApiError } from '../api/error'
import { documentQuery } from '../api/query'
import type { Schema } from '../api/types'
import { Form } from '../form/Form'
import { type Submitted, submitAll } from '../launch/benchmark/draft'
import { StartedBefore } from '../launch/benchmark/StartedBefore'
import type { LaunchSearch } from '../launch/search'
import { Button } from '../parts/Button'
import styles from '../parts/panels.module.css'
import { useChange } from '../parts/useChange'
import { CodeFields } from './CodeFields'
import { DatasetFields } from './DatasetFields'
import { EvaluateSide } from './EvaluateSide'
import {
  configuredIn,
  type Draft,
  draftBody,
  draftOf,
  draftProblems,
  draftsOf,
  FRESH,
  type Problems,
  placed,
  withDefaults,
} from './evaluation'
import { ModelFields } from './ModelFields'
import { NameFields } from './NameFields'
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
  const body = Object.keys(own).length === 0 ? draftBody(shown, known, earlier) : undefined
  const estimate = useEstimate(body)
  const [others, setOthers] = useState<string[]>([])
  const [before, setBefore] = useState<Submitted>()
  const drafts = draftsOf(shown, others)
  const open = (id: string) => void navigate({ to: '/runs/$runId', params: { runId: id } })
  const start = useChange(() => post('/api/runs', { body: draftBody(shown, known, earlier) }), {
    silent: true,
    done: 'Evaluation queued.',
    after: ({ id }) => open(id),
  })
  const startAll = useChange(
    () => submitAll(drafts, (one) => post('/api/runs', { body: draftBody(one, known, earlier) })),
    {
      after: (found) => {
        setBefore(found)
        if (found.refused.length === 0)
          void navigate({ to: '/', search: { configuration: shown.configuration ? [shown.configuration] : undefined } })
      },
    },
  )
  const refused = start.error ?? estimate.error
  const told = placed(refused instanceof ApiError ? refused.fields : {}, shown)
  const part: PartProps = {
    draft: shown,
    problems: { ...told.at, ...(tried ? own : {}) },
    set: (change) => {
      start.reset()
      setDraft((before) => ({ ...before, ...change }))
    },
  }
  const submit = () => {
    setTried(true)
    if (Object.keys(own).length > 0) return
    if (drafts.length > 1) startAll.mutate(undefined)
    else start.mutate(undefined)
  }
  const said = Object.keys(told.at).length > 0 && told.rest.length === 0
  return (
    <div className={styles.form}>
      <Form
        label="New evaluation"
        onSubmit={submit}
        error={said ? undefined : start.error}
        title="The evaluation could not be started"
        actions={
          <>
            <Button type="submit" look="primary" icon="play" busy={start.isPending || startAll.isPending}>
              {drafts.length > 1 ? `Start ${drafts.length} evaluations` : 'Start evaluation'}
            </Button>
            <span role="status" className="muted">
              {tried && Object.keys(own).length > 0 && 'Some fields are invalid.'}
            </span>
          </>
        }
      >
        <CodeFields {...part} workspaces={workspaces} codes={codes} earlier={earlier} />
        <ModelFields
          {...part}
          configured={configuredIn(shown, known)?.model}
          others={others}
          onOthers={(models) => {
            setBefore(undefined)
            setOthers(models)
          }}
        />
        <DatasetFields {...part} configured={configuredIn(shown, known)?.dataset} />
        <NameFields {...part} />
        {before && <StartedBefore before={before} />}
      </Form>
      <EvaluateSide
        ready={body !== undefined}
        estimate={estimate}
        others={body === undefined ? [] : drafts.slice(1).map((one) => draftBody(one, known, earlier))}
      />
    </div>
  )
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
    model: search.model ?? '',
  }
}
