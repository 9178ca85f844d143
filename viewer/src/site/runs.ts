/** The list of runs of a site. */
import type { Query, Schema } from '../api/types'
import { readFile } from './files'
import { pageOf, type Rank, sorted, takes } from './order'

type Run = Schema<'RunSummary'>
type RunQuery = NonNullable<Query<'/api/runs', 'get'>>

const RANKS: Record<string, (run: Run) => Rank> = {
  created_at: (run) => run.created_at,
  name: (run) => run.name.toLowerCase(),
  benchmark: (run) => run.benchmark,
  model: (run) => run.model,
  agent: (run) => run.agent,
  state: (run) => run.state,
  score: (run) => run.primary?.value ?? null,
  cost: (run) => run.usage.cost_usd,
  tokens: (run) => run.usage.total,
  duration: (run) => run.duration_s,
  attempt: (run) => run.attempt,
}

/** All runs of the site, newest first. */
export async function allRuns(): Promise<Run[]> {
  return (await readFile<Schema<'RunPage'>>('runs')).items
}

/** Answer `/api/runs`. */
export async function listRuns(query: RunQuery = {}): Promise<Schema<'RunPage'>> {
  const sort = query.sort ?? '-created_at'
  const rank = RANKS[sort.replace('-', '')] ?? (() => null)
  const found = (await allRuns()).filter((run) => fits(run, query))
  const page = pageOf(sorted(found, rank, sort.startsWith('-')), query.cursor, query.limit ?? 100)
  return { ...page, total: found.length, total_exact: true }
}

function fits(run: Run, query: RunQuery): boolean {
  const text = [run.id, run.name, run.benchmark, run.benchmark_title, run.model, run.agent, ...run.tags]
  const seen = text.join('\n').toLowerCase()
  const words = (query.q ?? '').toLowerCase().split(/\s+/)
  return (
    takes(query.state, run.state) &&
    takes(query.benchmark, run.benchmark) &&
    takes(query.model, run.model) &&
    takes(query.agent, run.agent) &&
    takes(query.kind, run.kind) &&
    takes(query.group, run.group_id) &&
    (query.tag ?? []).every((tag) => run.tags.includes(tag)) &&
    words.every((word) => seen.includes(word))
  )
}
