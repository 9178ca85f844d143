import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useEpisode } from '../episode/useEpisode'
import { Empty } from '../parts/Empty'
import { Failure } from '../parts/Failure'
import { Page } from '../parts/Page'
import { Skeleton } from '../parts/Skeleton'
import { brief } from '../renderers/marks'
import { EpisodesView } from './episodes/EpisodesView'
import type { CompareEpisodesSearch } from './search'

/** Two episodes side by side, step by step. */
export function CompareEpisodesPage() {
  const search: CompareEpisodesSearch = useSearch({ from: '/compare/episodes' })
  const navigate = useNavigate({ from: '/compare/episodes' })
  const a = useEpisode(search.a ?? '')
  const b = useEpisode(search.b ?? '')
  if (!search.a || !search.b) {
    return (
      <Page title="Two episodes">
        <Empty title="Select two episodes">
          Compare two runs and choose a task. Its episodes open here side by side.
        </Empty>
      </Page>
    )
  }
  const error = a.error ?? b.error
  if (!a.data || !b.data) {
    return (
      <Page title="Two episodes">
        {error ? <Failure error={error} title="An episode could not be loaded" /> : <Skeleton height="24rem" />}
      </Page>
    )
  }
  const runs = [a.data.run_id, b.data.run_id]
  const same = a.data.task_digest === b.data.task_digest
  return (
    <Page
      title={same ? `${brief(a.data.task_id, 60)} in two runs` : 'Two episodes'}
      trail={
        <Link to="/compare" search={{ run: runs }}>
          Back to the comparison
        </Link>
      }
      note={
        same
          ? undefined
          : 'These episodes belong to different tasks, so the differences may come from the task and not from the agent.'
      }
    >
      <EpisodesView
        key={`${a.data.id} ${b.data.id}`}
        a={a.data}
        b={b.data}
        step={search.step}
        onStep={(step) => void navigate({ search: (now) => ({ ...now, step }), replace: true, resetScroll: false })}
      />
    </Page>
  )
}
