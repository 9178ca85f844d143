/** Runs as a matrix: a row for each benchmark, a column for each model, one run in each cell. */
import type { Run } from './page'
import { BUILTIN } from './search'
import type { Standing } from './ToBaseline'

/** The runs of one benchmark by model; built-in agents are its floor and ceiling instead. */
export interface MatrixRow {
  benchmark: string
  title: string
  metric: string
  /** The run to show of each model, with how many there are. */
  cells: ReadonlyMap<string, Cell>
}

/** The latest of the runs with the most tasks, and all runs of its benchmark and model. */
export interface Cell {
  run: Run
  runs: readonly Run[]
}

export interface Matrix {
  rows: MatrixRow[]
  /** Names of models, as runs are called by them. */
  models: string[]
}

/** The matrix of runs, both sides in the order in which they first occur. */
export function matrixOf(runs: readonly Run[]): Matrix {
  const models = new Set<string>()
  const benchmarks = new Map<string, Map<string, Run[]>>()
  for (const run of runs) {
    if (BUILTIN.test(run.model)) continue
    models.add(run.title.model)
    const row = benchmarks.get(run.benchmark) ?? new Map<string, Run[]>()
    row.set(run.title.model, [...(row.get(run.title.model) ?? []), run])
    benchmarks.set(run.benchmark, row)
  }
  const rows = [...benchmarks].map(([benchmark, row]) => {
    const cells = new Map([...row].map(([model, all]) => [model, { run: shownOf(all), runs: all }]))
    const first = [...cells.values()][0]?.run
    const metric = [...cells.values()].find(({ run }) => run.primary !== null)?.run.primary?.name ?? ''
    return { benchmark, title: first?.benchmark_title || benchmark, metric: metric.replaceAll('_', ' '), cells }
  })
  return { rows, models: [...models] }
}

/** The latest of the runs with the most tasks. */
function shownOf(runs: readonly Run[]): Run {
  return runs.reduce((best, run) => {
    const more = (run.primary?.n_tasks ?? 0) - (best.primary?.n_tasks ?? 0)
    return more > 0 || (more === 0 && run.created_at > best.created_at) ? run : best
  })
}

/** Floor and ceiling of a benchmark, from what is known of its runs. */
export function boundsOf(row: MatrixRow, standings: ReadonlyMap<string, Standing>) {
  const known = [...row.cells.values()].flatMap(({ run }) => standings.get(run.id) ?? [])
  const best = known.find(({ floor, ceiling }) => floor?.same_tasks || ceiling?.same_tasks) ?? known[0]
  return { floor: best?.floor ?? null, ceiling: best?.ceiling ?? null }
}

/** The cell that an arrow leads to, by row and column; the sides are walls. */
export function moved(at: readonly [number, number], key: string, rows: number, columns: number): [number, number] {
  const [row, column] = at
  const [down, right] = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] }[key] ?? [0, 0]
  const within = (place: number, length: number) => Math.max(0, Math.min(length - 1, place))
  return [within(row + (down ?? 0), rows), within(column + (right ?? 0), columns)]
}
