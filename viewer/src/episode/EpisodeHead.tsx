import { Link } from '@tanstack/react-router'
import { lazy, type ReactNode, Suspense } from 'react'
import { source } from '../api/source'
import type { Schema } from '../api/types'
import { count } from '../format'
import { useVisit } from '../palette/recent'
import { LinkButton } from '../parts/LinkButton'
import { Page } from '../parts/Page'
import { Unfinished } from '../parts/Unfinished'
import { place } from '../place'
import { Marked } from '../renderers/Marked'
import { brief, plain } from '../renderers/marks'
import { isRollout, unitOf } from '../run/results/rollout'
import { ModelName } from '../runs/ModelName'
import { modelText } from '../runs/model'
import { isOneTurn } from './answer/oneTurn'
import { EpisodeFacts } from './EpisodeFacts'
import { EpisodeState } from './EpisodeState'
import { NeighbourLinks } from './NeighbourLinks'
import { type EpisodeSearch, listQuery } from './search'

const AddRows = lazy(async () => ({ default: (await import('../datasets/AddRows')).AddRows }))

/** What an episode is called: a row, a question where its task has only a number, else its task. */
function taskName({ run, task_id: task, question, index }: Schema<'EpisodeDetail'>): string {
  if (isRollout(run)) return `Row ${task}`
  return question !== '' && /^\d+$/.test(task) ? `Question ${count(index + 1)}` : task
}

interface EpisodeHeadProps {
  episode: Schema<'EpisodeDetail'>
  search: EpisodeSearch
  /** Whether another episode is being read while this one is still shown. */
  loading: boolean
  children: ReactNode
}

/** The top of the page: which episode of which run, its state and numbers, the way to its neighbours. */
export function EpisodeHead({ episode, search, loading, children }: EpisodeHeadProps) {
  const run = episode.run
  const task = taskName(episode)
  const runName = run.name || run.benchmark_title || run.benchmark
  useVisit('episode', episode.id, `${brief(task, 60)} · ${brief(runName, 40)} · ${modelText(run.model)}`)
  return (
    <Page
      title={`${brief(task, 60)} · ${brief(runName, 40)}`}
      heading={<Marked text={plain(task)} />}
      trail={
        <nav aria-label="Breadcrumb">
          <Link to="/runs/$runId" params={{ runId: run.id }} search={listQuery(search) as object}>
            <Marked text={brief(runName, 80)} />
          </Link>{' '}
          <ModelName model={run.model} />, {unitOf(run)} {episode.index + 1} of {run.counts.planned}{' '}
          <Unfinished run={run} />
        </nav>
      }
      aside={episode.state !== 'completed' && <EpisodeState episode={episode} />}
      actions={
        <>
          {place.mode === 'server' && (
            <Suspense fallback={null}>
              <AddRows run={run} episodes={[episode.id]} count={1} />
            </Suspense>
          )}
          {source.live && (
            <LinkButton
              look="quiet"
              icon="compare"
              to="/benchmarks/$benchmarkId/tasks/$taskDigest"
              params={{ benchmarkId: run.benchmark, taskDigest: episode.task_digest }}
              data-tip="This task over all models and trials"
            >
              All models
            </LinkButton>
          )}
          <NeighbourLinks episodeId={episode.id} search={search} />
        </>
      }
    >
      <div aria-busy={loading}>{!isOneTurn(episode) && <EpisodeFacts episode={episode} />}</div>
      {children}
    </Page>
  )
}
