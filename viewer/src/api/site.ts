/** Documents read from the files of a static site, which answer what the API would. */
import { compareEpisodes } from '../site/against'
import { getBenchmark, listBenchmarks } from '../site/benchmarks'
import { compareRuns } from '../site/compare'
import { getAttempts, getEpisode, getNeighbours, getTask, listEpisodes } from '../site/episodes'
import { absent, fileName, readFile } from '../site/files'
import { allRuns, listRuns } from '../site/runs'
import { getCall, listEvents, listSteps } from '../site/trace'
import type { Source } from './source'
import type { Answer, Params, PathsWith, Query, Schema } from './types'

type Path = PathsWith<'get'>
type Routes = {
  [P in Path]?: (params: NonNullable<Params<P, 'get'>>, query: Query<P, 'get'> | undefined) => Promise<Answer<P, 'get'>>
}

const ROUTES: Routes = {
  '/api/runs': (_params, query) => listRuns(query),
  '/api/runs/facets': () => readFile('facets'),
  '/api/runs/{run_id}': async ({ run_id }) => readFile(`runs/${await runName(run_id)}/detail`),
  '/api/runs/{run_id}/series': async ({ run_id }) => readFile(`runs/${await runName(run_id)}/series`),
  '/api/runs/{run_id}/results': async ({ run_id }) => readFile(`runs/${await runName(run_id)}/results`),
  '/api/runs/{run_id}/slices': async ({ run_id }, query) => readSlices(await runName(run_id), query?.by ?? ''),
  '/api/runs/{run_id}/wrong-answers': async ({ run_id }, query) =>
    readWrong(await runName(run_id), query?.by ?? 'mistake'),
  '/api/runs/{run_id}/episodes': ({ run_id }, query) => listEpisodes(run_id, query),
  '/api/episodes/{episode_id}': ({ episode_id }) => getEpisode(episode_id),
  '/api/episodes/{episode_id}/attempts': ({ episode_id }) => getAttempts(episode_id),
  '/api/episodes/{episode_id}/neighbours': ({ episode_id }, query) => getNeighbours(episode_id, query),
  '/api/episodes/{episode_id}/events': ({ episode_id }, query) => listEvents(episode_id, query),
  '/api/episodes/{episode_id}/steps': ({ episode_id }, query) => listSteps(episode_id, query),
  '/api/episodes/{episode_id}/calls/{seq}': ({ episode_id, seq }) => getCall(episode_id, seq),
  '/api/episodes/{episode_id}/against/{other_id}': ({ episode_id, other_id }) => compareEpisodes(episode_id, other_id),
  '/api/compare': (_params, query) => compareRuns(query?.run ?? [], query?.metric),
  '/api/benchmarks': (_params, query) => listBenchmarks(query),
  '/api/benchmarks/{benchmark_id}': ({ benchmark_id }) => getBenchmark(benchmark_id),
  '/api/benchmarks/{benchmark_id}/tasks/{task_digest}': ({ benchmark_id, task_digest }) =>
    getTask(benchmark_id, task_digest),
}

/** Return what the files of a run are called, by its id or a unique beginning of it. */
async function runName(id: string): Promise<string> {
  const found = (await allRuns()).filter((run) => run.id.startsWith(id))
  const run = found.find((one) => one.id === id) ?? found[0]
  if (run === undefined) throw absent(`run ${id}`)
  return fileName(run.id)
}

/** Return the slices of a run by a label; their files are numbered as the labels of its results. */
async function readSlices(run: string, by: string): Promise<Schema<'RunSlices'>> {
  const { labels } = await readFile<Schema<'RunResultsDocument'>>(`runs/${run}/results`)
  const place = labels.findIndex((label) => label.name === by)
  if (place < 0) throw absent(`the label ${by}`)
  return readFile(`runs/${run}/slices-${place}`)
}

/** Return the wrong answers of a run by a field. */
async function readWrong(run: string, by: string): Promise<Schema<'WrongAnswersDocument'>> {
  if (!by.startsWith('label:')) return readFile(`runs/${run}/wrong-${by}`)
  const { labels } = await readFile<Schema<'RunResultsDocument'>>(`runs/${run}/results`)
  const place = labels.findIndex(({ name }) => by === `label:${name}`)
  if (place < 0) throw absent(`the label ${by}`)
  return readFile(`runs/${run}/wrong-label-${place}`)
}

/** Reads files below `data/`; nothing can be changed, and nothing is live. */
export class SiteSource implements Source {
  readonly live = false

  async get<P extends Path>(
    path: P,
    params: Params<P, 'get'>,
    query: Query<P, 'get'> | undefined,
    signal?: AbortSignal,
  ): Promise<Answer<P, 'get'>> {
    const route = ROUTES[path]
    if (route === undefined) throw absent(path)
    const found = await route((params ?? {}) as NonNullable<Params<P, 'get'>>, query)
    signal?.throwIfAborted()
    return found
  }
}
