/** The episodes of a run of a site: all rows are read, then filtered and sorted here. */
import type { Query, Schema } from '../api/types'
import { absent, fileName, readFile } from './files'
import { pageOf, type Rank, sorted, takes } from './order'
import { allRuns } from './runs'

type Row = Schema<'EpisodeSummary'>
type Filter = NonNullable<Query<'/api/episodes/{episode_id}/neighbours', 'get'>>
type PageQuery = NonNullable<Query<'/api/runs/{run_id}/episodes', 'get'>>

/** The first file of an episode. */
export interface EpisodeFile {
  detail: Omit<Schema<'EpisodeDetail'>, 'run'>
  /** Positions at which the files of events begin, and what the first of them holds. */
  windows: number[]
  events: Schema<'EventDocument'>[]
  /** Steps at which the files of the outline begin, and the first of them. */
  pages: number[]
  steps: Schema<'StepPage'>
}

/** What is known of the score that ranks the episodes of a run. */
interface Primary {
  name: string | null
  threshold: number
}

const RANKS: Record<string, (row: Row) => Rank> = {
  index: (row) => row.index,
  score: (row) => row.score,
  reward: (row) => row.total_reward,
  steps: (row) => row.steps,
  tokens: (row) => row.usage.total,
  cost: (row) => row.usage.cost_usd,
  duration: (row) => row.duration_s,
  started_at: (row) => row.started_at,
}

/** Answer `/api/runs/{id}/episodes`. */
export async function listEpisodes(runId: string, query: PageQuery = {}): Promise<Schema<'EpisodePage'>> {
  const limit = query.limit ?? 200
  if (query.at !== null && query.at !== undefined) {
    const first = query.at
    const all = await allRows(runId)
    const items = all.filter((row) => row.index >= first && row.index < first + limit)
    return { items, cursor: null, total: all.length, total_exact: true }
  }
  const found = await chosenRows(runId, query)
  return { ...pageOf(found, query.cursor, limit), total: found.length, total_exact: true }
}

/** Answer `/api/episodes/{id}`. */
export async function getEpisode(id: string): Promise<Schema<'EpisodeDetail'>> {
  const { detail } = await episodeFile(id)
  const run = (await allRuns()).find((one) => one.id === detail.run_id)
  if (run === undefined) throw absent(`run ${detail.run_id}`)
  return { ...detail, run }
}

/** Answer `/api/episodes/{id}/neighbours`. */
export async function getNeighbours(id: string, query: Filter = {}): Promise<Schema<'Neighbours'>> {
  const { detail } = await episodeFile(id)
  const rows = await chosenRows(detail.run_id, query)
  const place = rows.findIndex((row) => row.id === id)
  if (place < 0) return { previous: null, next: null }
  return { previous: rows[place - 1]?.id ?? null, next: rows[place + 1]?.id ?? null }
}

/** Answer `/api/benchmarks/{id}/tasks/{digest}`. */
export function getTask(benchmark: string, digest: string): Promise<Schema<'TaskDetail'>> {
  return readFile(`tasks/${fileName(benchmark)}/${fileName(digest)}`)
}

/** Answer `/api/episodes/{id}/attempts`: the trials of its task. */
export async function getAttempts(id: string): Promise<Schema<'TaskAttempts'>> {
  const { run, task_digest: digest } = await getEpisode(id)
  const { items, tried, whole } = await getTask(run.benchmark, digest)
  const models = tried.filter(({ builtin }) => !builtin)
  const sum = (part: 'passed' | 'judged') => models.reduce((all, one) => all + one[part], 0)
  return { items, passed: sum('passed'), judged: sum('judged'), whole }
}

/** Read the first file of an episode. */
export function episodeFile(id: string): Promise<EpisodeFile> {
  return readFile<EpisodeFile>(`episodes/${fileName(id)}`)
}

async function allRows(runId: string): Promise<Row[]> {
  const rows: Row[] = []
  for (let number = 0; ; number += 1) {
    const page = await readFile<Schema<'EpisodePage'>>(`runs/${fileName(runId)}/episodes-${number}`)
    rows.push(...page.items)
    if (page.cursor === null) return rows
  }
}

async function chosenRows(runId: string, query: Filter): Promise<Row[]> {
  const [rows, primary] = await Promise.all([allRows(runId), primaryOf(runId)])
  const sort = query.sort ?? 'index'
  const rank = RANKS[sort.replace('-', '')] ?? (() => null)
  const found = rows.filter((row) => fits(row, query) && hasOutcome(row, query.outcome ?? '', primary))
  return sorted(found, rank, sort.startsWith('-'))
}

async function primaryOf(runId: string): Promise<Primary> {
  const place = `runs/${fileName(runId)}`
  const [detail, series] = await Promise.all([
    readFile<Schema<'RunDetail'>>(`${place}/detail`),
    readFile<Schema<'RunSeriesDocument'>>(`${place}/series`),
  ])
  const declared = Array.isArray(detail.info.metrics) ? detail.info.metrics : []
  const metric = declared.find((one) => typeof one === 'object' && one !== null && 'primary' in one && one.primary)
  const threshold = typeof metric === 'object' && metric !== null && 'threshold' in metric ? metric.threshold : 0
  return { name: series.score, threshold: typeof threshold === 'number' ? threshold : 0 }
}

function fits(row: Row, query: Filter): boolean {
  const { low, high } = query
  const seen = [row.id, row.task_id, row.failure?.message ?? ''].join('\n').toLowerCase()
  return (
    takes(query.state, row.state) &&
    takes(query.cause, row.failure?.cause ?? null) &&
    (!query.task || row.task_digest === query.task) &&
    (!query.mistake || row.mistake === query.mistake) &&
    (!query.behaviour || row.behaviour === query.behaviour) &&
    (!query.label || groupsOf(row).some(([name, value]) => `${name}=${value}` === query.label)) &&
    (low === null || low === undefined || (row.score !== null && row.score >= low)) &&
    (high === null || high === undefined || (row.score !== null && row.score <= high)) &&
    seen.includes((query.q ?? '').trim().toLowerCase())
  )
}

/** The labels of an episode, and its trial, which counts from 1. */
function groupsOf({ labels, trial }: Row): [string, string][] {
  return Object.entries({ trial: String(trial + 1), ...labels })
}

function hasOutcome(row: Row, outcome: string, primary: Primary): boolean {
  const score = row.scores.find((one) => one.name === primary.name)
  const worst = score?.worst ?? false
  const skipped = score?.missing === 'skipped'
  switch (outcome) {
    case 'scored':
      return row.score !== null
    case 'worst':
      return worst
    case 'missing':
      return row.score === null && !worst && !skipped
    case 'skipped':
      return skipped
    case 'pass':
      return row.score !== null && row.score > primary.threshold
    case 'fail':
      return worst || (row.score !== null && row.score <= primary.threshold)
    default:
      return true
  }
}
