/** The runs of a configuration as points over commits. */
import type { Schema } from '../api/types'
import { isGoing } from '../run/headline'

export type Run = Schema<'RunSummary'>
type Metric = Schema<'MetricDocument'>

/** A run with a value, and where it stands from left to right. */
export interface Point {
  run: Run
  metric: Metric
  at: number
}

/** The points of one model and branch, oldest first. */
export interface Series {
  key: string
  label: string
  points: Point[]
}

/** Neighbouring runs of one commit. */
export interface Stretch {
  /** Short commit; `upload` for code from outside of a repository. */
  label: string
  message: string
  first: number
  last: number
  /** When the first of its runs was submitted. */
  at: string
}

/** What the chart shows. `others` is the number of runs that ended with another metric, or without a value. */
export interface History {
  metric: string
  series: Series[]
  stretches: Stretch[]
  points: Point[]
  others: number
}

/** The history of runs, which come newest first; the newest one with a value says which metric is shown. */
export function historyOf(all: readonly Run[]): History {
  const runs = all.filter((run) => !isGoing(run))
  const metric = runs.find(({ primary }) => primary?.value != null)?.primary?.name ?? ''
  const shown = [...runs].reverse().filter(({ primary }) => primary?.value != null && primary.name === metric)
  const points = shown.map((run, at): Point => ({ run, metric: run.primary as Metric, at }))
  return {
    metric,
    series: seriesOf(points),
    stretches: stretchesOf(points),
    points,
    others: runs.length - points.length,
  }
}

function seriesOf(points: readonly Point[]): Series[] {
  const branches = new Set(points.map(({ run }) => branchOf(run)))
  const models = new Set(points.map(({ run }) => run.model))
  const found = new Map<string, Series>()
  for (const point of points) {
    const { model } = point.run
    const branch = branchOf(point.run)
    const key = JSON.stringify([model, branch])
    // What is the same everywhere says nothing.
    const words = [(models.size > 1 || branches.size === 1) && model, branches.size > 1 && branch].filter(Boolean)
    const series = found.get(key) ?? { key, label: words.join(', '), points: [] }
    series.points.push(point)
    found.set(key, series)
  }
  return [...found.values()]
}

function branchOf({ request }: Run): string {
  return request?.evaluation?.branch || 'upload'
}

function stretchesOf(points: readonly Point[]): Stretch[] {
  const found: Stretch[] = []
  for (const { run, at } of points) {
    const { commit = '', dirty = false, message = '' } = run.request?.evaluation ?? {}
    const label = commit ? `${commit.slice(0, 7)}${dirty ? '+' : ''}` : 'upload'
    const last = found.at(-1)
    if (last?.label === label) last.last = at
    else found.push({ label, message, first: at, last: at, at: run.created_at })
  }
  return found
}

/** Which of the stretches are labelled so that no two labels, each so many pixels wide, touch; the last one always is. */
export function labelled(stretches: readonly Stretch[], place: (at: number) => number, width: number): Stretch[] {
  const found: Stretch[] = []
  let limit = Number.POSITIVE_INFINITY
  for (const one of [...stretches].reverse()) {
    const middle = (place(one.first) + place(one.last)) / 2
    if (middle > limit) continue
    found.unshift(one)
    limit = middle - width
  }
  return found
}
