import { Link, useSearch } from '@tanstack/react-router'
import { useDocument } from '../api/query'
import type { Schema } from '../api/types'
import { EvaluateForm } from '../evaluate/EvaluateForm'
import { Empty } from '../parts/Empty'
import { LinkButton } from '../parts/LinkButton'
import { Loaded } from '../parts/Loaded'
import { Page } from '../parts/Page'
import { PageSkeleton } from '../parts/PageSkeleton'
import { SubNav } from '../parts/SubNav'
import { writeSearch } from '../search'
import { isMember, type Me } from '../session/person'
import { useMe } from '../session/useMe'
import { mayAs } from '../workspaces/roles'
import { BenchmarkForm } from './benchmark/BenchmarkForm'
import { LaunchForm } from './LaunchForm'
import { isBenchmark, isEvaluation, type LaunchSearch } from './search'

/** The form for a new run; what a link to it names is chosen already. */
export function NewRunPage() {
  const search = useSearch({ from: '/new-run' })
  const me = useMe()
  if (me === undefined) return <PageSkeleton />
  if (me.type === 'anonymous') {
    const next = `/new-run${writeSearch({ ...search })}`
    return (
      <Page title="New run">
        <Empty title="Sign in to start a run">
          <p>Members and guests can start runs.</p>
          <LinkButton to="/sign-in" search={{ next }} look="primary">
            Sign in
          </LinkButton>
        </Empty>
      </Page>
    )
  }
  if (isMember(me) && isEvaluation(search)) return <NewEvaluation search={search} />
  if (isMember(me) && isBenchmark(search)) return <NewBenchmarkRuns search={search} />
  return (
    <Page title="New run" note="A model plays episodes in an environment. Watch it live; everything is recorded.">
      {isMember(me) && <KindNav />}
      <NewEnvironmentRun search={search} me={me} />
    </Page>
  )
}

function NewEnvironmentRun({ search, me }: { search: LaunchSearch; me: Me }) {
  const domains = useDocument('/api/domains')
  const models = useDocument('/api/models')
  return (
    <Loaded query={domains} title="The domains could not be loaded" height="30rem">
      {(found) => (
        <Loaded query={models} title="The models could not be loaded" height="30rem">
          {(offered) =>
            found.length > 0 ? (
              <LaunchForm domains={found} models={offered.models} search={search} me={me} />
            ) : (
              <Empty title="No environments yet">
                <p>A model needs an environment to play in.</p>
                <LinkButton to="/environments/new" look="primary">
                  Submit an environment
                </LinkButton>
              </Empty>
            )
          }
        </Loaded>
      )}
    </Loaded>
  )
}

/** Runs of a benchmark, one for each model. */
function NewBenchmarkRuns({ search }: { search: LaunchSearch }) {
  const benchmarks = useDocument('/api/benchmarks', { query: { limit: 1_000 } })
  const models = useDocument('/api/models')
  const workspaces = useDocument('/api/workspaces')
  return (
    <Page title="New run" note="Models answer the tasks of a benchmark. Watch them live; everything is recorded.">
      <KindNav />
      <Loaded query={benchmarks} title="The benchmarks could not be loaded" height="30rem">
        {(known) => (
          <Loaded query={models} title="The models could not be loaded" height="30rem">
            {(offered) => (
              <Loaded query={workspaces} title="Your workspaces could not be loaded" height="30rem">
                {(found) => (
                  <BenchmarkForm benchmarks={known.items} models={offered.models} workspaces={found} search={search} />
                )}
              </Loaded>
            )}
          </Loaded>
        )}
      </Loaded>
    </Page>
  )
}

/** The evaluation of a rollout of a workspace, fresh or as an earlier one. */
function NewEvaluation({ search }: { search: LaunchSearch }) {
  const workspaces = useDocument('/api/workspaces')
  const me = useMe()
  return (
    <Page
      title={search.from ? 'Run again' : 'New run'}
      note="A rollout plays every row of a dataset with a model, and its grader scores what came of it."
    >
      {!search.from && <KindNav />}
      <Loaded query={workspaces} title="Your workspaces could not be loaded" height="30rem">
        {(found) => {
          const working = found.filter((one) => mayAs('member', one, me))
          const asked = found.find((one) => [one.id, one.name].includes(search.workspace ?? ''))
          const watched = asked ?? (working.length === 0 ? found[0] : undefined)
          if (watched && !working.includes(watched)) return <OnlyWatched workspace={watched} />
          if (working.length === 0)
            return (
              <Empty title="No workspace to run in">
                <p>A workspace holds rollouts, datasets and secrets. Its members start evaluations.</p>
                <LinkButton to="/workspaces" look="primary">
                  Create a workspace
                </LinkButton>
              </Empty>
            )
          return search.from ? (
            <Repeated key={search.from} workspaces={working} search={search} runId={search.from} />
          ) : (
            <EvaluateForm workspaces={working} search={search} />
          )
        }}
      </Loaded>
    </Page>
  )
}

/** A workspace in which the user may not start runs. */
function OnlyWatched({ workspace }: { workspace: Schema<'WorkspaceDocument'> }) {
  return (
    <Empty title={`You may not start runs in ${workspace.name}`}>
      <p>Your role there is {workspace.role}; members start runs. Ask one of its admins to make you a member.</p>
      <LinkButton to="/workspaces/$workspaceId" params={{ workspaceId: workspace.id }}>
        To the workspace
      </LinkButton>
    </Empty>
  )
}

function Repeated({
  workspaces,
  search,
  runId,
}: {
  workspaces: readonly Schema<'WorkspaceDocument'>[]
  search: LaunchSearch
  runId: string
}) {
  const run = useDocument('/api/runs/{run_id}', { params: { run_id: runId } })
  return (
    <Loaded query={run} title="The earlier run could not be loaded" height="30rem">
      {(earlier) =>
        earlier.request?.evaluation ? (
          <EvaluateForm workspaces={workspaces} search={search} earlier={earlier} />
        ) : (
          <Empty title="This run is no evaluation of a rollout">Only those are repeated here.</Empty>
        )
      }
    </Loaded>
  )
}

/** What is run: a benchmark, a rollout, an environment. */
function KindNav() {
  const search = useSearch({ from: '/new-run' })
  const kinds = [
    { label: 'Benchmark', search: {}, here: isBenchmark(search) },
    { label: 'Rollout and dataset', search: { kind: 'rollout' }, here: isEvaluation(search) },
    {
      label: 'Environment',
      search: { kind: 'environment' },
      here: !isBenchmark(search) && !isEvaluation(search),
    },
  ] as const
  return (
    <SubNav label="What to run">
      {kinds.map(({ label, search: to, here }) => (
        <Link
          key={label}
          to="/new-run"
          search={to}
          aria-current={here ? 'page' : undefined}
          activeOptions={BY_ITS_WHOLE_ADDRESS}
        >
          {label}
        </Link>
      ))}
    </SubNav>
  )
}

/** Links to other kinds are not current because their address is a part of this one. */
const BY_ITS_WHOLE_ADDRESS = { exact: true, includeSearch: true }
