import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { post } from '../api/client'
import { ApiError } from '../api/error'
import type { Schema } from '../api/types'
import { Form } from '../form/Form'
import { Button } from '../parts/Button'
import styles from '../parts/panels.module.css'
import { useChange } from '../parts/useChange'
import { isMember, type Me } from '../session/person'
import { AgentFields } from './AgentFields'
import { DomainFields } from './DomainFields'
import { EpisodeFields } from './EpisodeFields'
import { episodesProblem } from './limits'
import { OfficialField } from './OfficialField'
import { FRESH, type Problems, placed, type RunRequest, requestBody, requestProblems } from './runRequest'
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
  const [request, setRequest] = useState<RunRequest>(() => begin(domains, models, search, me))
  const [tried, setTried] = useState(false)
  const navigate = useNavigate()
  const start = useChange(() => post('/api/runs', { body: requestBody(request) }), {
    silent: true,
    done: 'Run queued.',
    after: ({ id }) => void navigate({ to: '/runs/$runId', params: { runId: id } }),
  })
  const { limits, reason } = useLimits(request.team)
  const many = episodesProblem(Number(request.episodes), limits)
  const own = {
    ...requestProblems(request),
    ...(many && request.seeds.trim() === '' && !request.official ? { episodes: many } : {}),
  }
  const told = placed(start.error instanceof ApiError ? start.error.fields : {})
  const problems = { ...told.at, ...(tried ? own : {}) }
  const offered = limits?.domains ? domains.filter(({ id }) => limits.domains?.includes(id)) : domains
  const domain = domains.find((one) => one.id === request.domain)
  const part: PartProps = { request, problems, set: (change) => setRequest((before) => ({ ...before, ...change })) }
  const submit = () => {
    setTried(true)
    if (Object.keys(own).length === 0) start.mutate(undefined)
  }
  const said = Object.keys(told.at).length > 0 && told.rest.length === 0
  return (
    <div className={styles.form}>
      <Form
        label="New run"
        onSubmit={submit}
        error={said ? undefined : start.error}
        title="The run could not be started"
        actions={
          <>
            <Button type="submit" look="primary" icon="play" busy={start.isPending}>
              Start run
            </Button>
            <span role="status" className="muted">
              {tried && Object.keys(own).length > 0 ? 'Some fields are invalid.' : reason}
            </span>
          </>
        }
      >
        <DomainFields {...part} domains={offered} onDomain={(id) => setRequest(withDomain(request, domains, id))} />
        {isMember(me) && <OfficialField {...part} />}
        <AgentFields {...part} models={models} guest={!isMember(me)} />
        <EpisodeFields {...part} most={limits?.episodes_per_run} />
        <WhoseFields {...part} guest={!isMember(me)} />
      </Form>
      <Summary request={request} domain={domain} limits={limits} />
    </div>
  )
}

function begin(
  domains: readonly Schema<'Domain'>[],
  models: readonly Schema<'OfferedModel'>[],
  search: LaunchSearch,
  me: Me,
): RunRequest {
  const usable = models.find((one) => one.available && !one.name.endsWith('*') && (isMember(me) || one.guests))
  const only = domains.length === 1 ? domains[0]?.id : undefined
  const request: RunRequest = {
    ...FRESH,
    model: search.model ?? usable?.name ?? '',
    environment: search.environment ?? '',
    team: search.team ?? '',
    visibility: isMember(me) ? 'private' : 'gallery_public',
  }
  return { ...withDomain(request, domains, search.domain ?? only ?? ''), environment: search.environment ?? '' }
}
