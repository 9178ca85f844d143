/** Which models solve the rows of a dataset, from the newest finished run of each. */
import { useQueries, useQuery } from '@tanstack/react-query'
import { documentQuery } from '../api/query'
import type { Schema } from '../api/types'

/** Models that are looked at, those of the newest runs first, and the most trials of the shown rows that are read. */
const MODELS = 6
const EPISODES = 200

type Episode = Pick<Schema<'EpisodeSummary'>, 'task_id' | 'task_digest' | 'verdict'>

/** A row: whether each model that tried it solved it, and its task. */
export interface Solved {
  benchmark: string
  task: string
  models: { name: string; solved: boolean }[]
}

/** The rows by their numbers. A model solves a row that it gets right at least half of the time; errors do not count. */
export function solvedRows(
  runs: readonly { model: string; benchmark: string; episodes: readonly Episode[] }[],
): Map<string, Solved> {
  const found = new Map<string, Solved>()
  for (const { model, benchmark, episodes } of runs) {
    const rows = new Map<string, { task: string; passed: number; judged: number }>()
    for (const { task_id: row, task_digest: task, verdict } of episodes) {
      if (verdict !== 'passed' && verdict !== 'not_passed') continue
      const tally = rows.get(row) ?? { task, passed: 0, judged: 0 }
      rows.set(row, { task, passed: tally.passed + (verdict === 'passed' ? 1 : 0), judged: tally.judged + 1 })
    }
    for (const [row, { task, passed, judged }] of rows) {
      const known = found.get(row) ?? { benchmark, task, models: [] }
      known.models.push({ name: model, solved: passed * 2 >= judged })
      found.set(row, known)
    }
  }
  return found
}

/** How the models that tried a row came out, in words. */
export function solvedWords({ models }: Solved): string {
  const solved = models.filter((one) => one.solved).length
  if (models.length < 2) return ''
  return solved === 0 ? 'solved by none' : solved === models.length ? 'solved by all' : 'flips'
}

/** Read who solves the first rows of a version; empty where no run of it has finished. */
export function useSolved(workspace: string, dataset: string, version: number): Map<string, Solved> {
  const query = { workspace, dataset: [dataset], dataset_version: [version], state: ['finished' as const], limit: 50 }
  const runs = useQuery(documentQuery('/api/runs', { query })).data?.items ?? []
  const newest = runs.filter(({ model }, at) => runs.findIndex((run) => run.model === model) === at).slice(0, MODELS)
  const found = useQueries({
    queries: newest.map(({ id }) =>
      documentQuery('/api/runs/{run_id}/episodes', { params: { run_id: id }, query: { limit: EPISODES } }),
    ),
  })
  return solvedRows(
    newest.map(({ model, benchmark }, at) => ({ model, benchmark, episodes: found[at]?.data?.items ?? [] })),
  )
}
