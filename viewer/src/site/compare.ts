/** Comparisons of a site: there is a file for every two runs; more of them are put together from these. */
import type { Schema } from '../api/types'
import { absent, readFile } from './files'
import { allRuns } from './runs'

type Comparison = Schema<'ComparisonDocument'>
type OfBenchmark = Schema<'BenchmarkComparison'>
type Pair = Schema<'RunPairDocument'>

const ALPHA = 0.05

/** Answer `/api/compare`. */
export async function compareRuns(ids: readonly string[], metric = ''): Promise<Comparison> {
  const runs = await allRuns()
  const places = ids.map((id) => runs.findIndex((run) => run.id === id))
  const missing = places.indexOf(-1)
  if (missing >= 0) throw absent(`run ${ids[missing] ?? ''}`)
  const [baseline, ...others] = places
  const found = await Promise.all(others.map((other) => pairFile(baseline ?? 0, other, metric)))
  const first = found[0]
  if (first === undefined) throw absent('comparison of less than two runs')
  return found.length === 1 ? first : joined(found)
}

async function pairFile(a: number, b: number, metric: string): Promise<Comparison> {
  const plain = await readFile<Comparison>(`compare/${a}-${b}`)
  const other = plain.benchmarks.find((one) => metric && one.metric !== metric && one.metrics.includes(metric))
  if (other === undefined) return plain
  const { metrics } = await readFile<{ metrics: string[] }>('compare')
  return await readFile<Comparison>(`compare/${a}-${b}-${metrics.indexOf(metric)}`)
}

/** Join comparisons of one baseline with several runs. */
function joined(found: readonly Comparison[]): Comparison {
  const runs = [...(found[0]?.runs.slice(0, 1) ?? []), ...found.flatMap((one) => one.runs.slice(1))]
  const names = [...new Set(found.flatMap((one) => one.benchmarks.map((item) => item.benchmark)))]
  return { runs, differences: differencesOf(found), benchmarks: names.map((name) => benchmarkOf(found, name)) }
}

function differencesOf(found: readonly Comparison[]): Comparison['differences'] {
  const fields = [...new Set(found.flatMap((one) => one.differences.map((item) => item.field)))]
  return fields.map((field) => {
    const rows = found.map((one) => one.differences.find((item) => item.field === field))
    const baseline = rows.find((row) => row !== undefined)?.values[0] ?? null
    // Where a run is not named it does not differ from the baseline.
    return { field, values: [baseline, ...rows.map((row) => (row === undefined ? baseline : (row.values[1] ?? null)))] }
  })
}

function benchmarkOf(found: readonly Comparison[], name: string): OfBenchmark {
  const parts = found.flatMap((one) => one.benchmarks.filter((item) => item.benchmark === name))
  const scores = new Map<string, OfBenchmark['scores'][number]>()
  for (const part of parts) {
    for (const [place, run] of part.runs.entries()) scores.set(run, part.scores[place] ?? null)
  }
  const head = parts[0]
  if (head === undefined) throw absent(`comparison on ${name}`)
  const pairs = parts.flatMap((part) => part.pairs)
  return {
    ...head,
    runs: [...scores.keys()],
    scores: [...scores.values()],
    same_content: parts.every((part) => part.same_content),
    pairs: adjusted(pairs),
    note: pairs.length > 0 ? (parts.find((part) => part.note)?.note ?? '') : head.note,
  }
}

/** Adjust the p values of several pairs (Holm 1979); a winner must win after that too. */
export function adjusted(pairs: readonly Pair[]): Pair[] {
  const order = pairs.map((_, place) => place).sort((a, b) => (pairs[a]?.p_value ?? 1) - (pairs[b]?.p_value ?? 1))
  const values = pairs.map(() => 1)
  let highest = 0
  order.forEach((place, rank) => {
    highest = Math.max(highest, Math.min((pairs.length - rank) * (pairs[place]?.p_value ?? 1), 1))
    values[place] = highest
  })
  return pairs.map((pair, place) => {
    const p_adjusted = values[place] ?? 1
    return { ...pair, p_adjusted, winner: p_adjusted < ALPHA ? pair.winner : 'tie' }
  })
}
