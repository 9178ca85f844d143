import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import type { Schema } from '../api/types'
import { plural } from '../format'
import { Panel } from '../parts/Panel'
import { isMember, type Me } from '../session/person'
import { AgentFields } from './AgentFields'
import { DomainFields } from './DomainFields'
import { EpisodeFields } from './EpisodeFields'
import styles from './launch.module.css'
import { episodesProblem } from './limits'
import { ModelChoice } from './ModelChoice'
import { NameFields } from './NameFields'
import { OfficialField } from './OfficialField'
import { RunsForm } from './RunsForm'
import { bodiesOf, FRESH, type Problems, placed, type RunRequest, requestProblems } from './runRequest'
import { useRuns } from './runs'
import { Summary } from './Summary'
import type { LaunchSearch } from './search'
import { useLimits } from './useLimits'
import { WhoseFields } from './WhoseFields'
import { withDomain } from './withDomain'

/** What can be chosen from, and what is chosen already. */
interface LaunchFormProps {
  domains: readonly Schema<'Domain'>[]
  models: readonly Schema<'OfferedModel'>[]
  search: LaunchSearch
  me: Me
}

/** What every part of the form is given. */
export interface PartProps {
  request: RunRequest
  set: (change: Partial<RunRequest>) => void
  problems: Problems
}

/** The fields of a run and a summary beside them. */
export function LaunchForm({ domains, models, search, me }: LaunchFormProps) {
  const [request, setRequest] = useState<RunRequest>(() => begin(domains, search, me))
  const [tried, setTried] = useState(false)
  const navigate = useNavigate()
  const { limits, reason } = useLimits(request.team)
  const many = episodesProblem(Number(request.episodes), limits)
  const own = {
    ...requestProblems(request),
    ...(many && request.seeds.trim() === '' && !request.official ? { episodes: many } : {}),
  }
  const ready = Object.keys(own).length === 0
  const runs = useRuns(bodiesOf(request), {
    ready,
    onRefused: (models) => setRequest((before) => ({ ...before, models })),
    onStarted: ([id, ...others]) => {
      if (id && others.length === 0) void navigate({ to: '/runs/$runId', params: { runId: id } })
      else void navigate({ to: '/', search: { benchmark: [request.domain] } })
    },
  })
  const refused = (runs.found?.runs ?? []).filter(({ field }) => field !== '')
  const told = placed(Object.fromEntries(refused.map((one) => [one.field, one.refused])))
  const problems = { ...told.at, ...(tried ? own : {}) }
  const offered = limits?.domains ? domains.filter(({ id }) => limits.domains?.includes(id)) : domains
  const domain = domains.find((one) => one.id === request.domain)
  const part: PartProps = { request, problems, set: (change) => setRequest((before) => ({ ...before, ...change })) }
  const guest = !isMember(me)
  return (
    <RunsForm
      label="New run"
      onTry={() => setTried(true)}
      runs={runs}
      tried={tried}
      workspace=""
      limits={limits}
      reason={reason}
      waits="Choose a domain and models."
      side={<Summary request={request} domain={domain} limits={limits} />}
    >
      <Panel title="What">
        <div className={styles.fields}>
          <DomainFields {...part} domains={offered} onDomain={(id) => setRequest(withDomain(request, domains, id))} />
          {!guest && <OfficialField {...part} />}
          <EpisodeFields {...part} most={limits?.episodes_per_run} />
        </div>
      </Panel>
      <Panel title="Models" note={`${plural(request.models.length, 'model')} chosen, one run each`} flush>
        <ModelChoice
          chosen={request.models}
          onChange={(chosen) => part.set({ models: chosen })}
          problem={problems.models}
          workspace=""
          models={guest ? models.map(forGuests) : models}
          forecast={runs.found}
        />
      </Panel>
      <Panel title="Agent">
        <div className={styles.fields}>
          <AgentFields {...part} />
        </div>
      </Panel>
      <Panel title="Name">
        <div className={styles.fields}>
          <NameFields {...part} name={request.name} tags={request.tags} usual="made from domain and model" />
          <WhoseFields {...part} guest={guest} />
        </div>
      </Panel>
    </RunsForm>
  )
}

function forGuests(model: Schema<'OfferedModel'>): Schema<'OfferedModel'> {
  return model.available && !model.guests ? { ...model, available: false, reason: 'for members' } : model
}

function begin(domains: readonly Schema<'Domain'>[], search: LaunchSearch, me: Me): RunRequest {
  const only = domains.length === 1 ? domains[0]?.id : undefined
  const request: RunRequest = {
    ...FRESH,
    models: search.model ? [search.model] : [],
    environment: search.environment ?? '',
    team: search.team ?? '',
    visibility: isMember(me) ? 'private' : 'gallery_public',
  }
  return { ...withDomain(request, domains, search.domain ?? only ?? ''), environment: search.environment ?? '' }
}
