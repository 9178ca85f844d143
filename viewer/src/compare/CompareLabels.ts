/** What runs are called beside each other: short, and no two alike. */
import type { Schema } from '../api/types'
import { clip } from '../runs/clip'
import { modelText, modelWords } from '../runs/model'
import { shortId } from '../runs/runName'

type Run = Schema<'RunSummary'>

/** A run in a comparison: its letter, and what tells it from the others. */
export interface Label {
  letter: string
  name: string
  /** A CSS colour by its variable. */
  colour: string
}

const SERIES = 8

/** Labels of runs in their order, by id; the name is the first of model, name, agent in which all of them differ. */
export function labelsOf(runs: readonly Run[]): Map<string, Label> {
  const ways: ((run: Run) => string)[] = [
    (run) => modelWords(run.model).name,
    (run) => run.name,
    (run) => modelText(run.model),
    (run) => `${modelWords(run.model).name}, ${run.agent}`,
    (run) => `${modelWords(run.model).name}, ${run.benchmark_title || run.benchmark}`,
    (run) => `${modelWords(run.model).name}, ${run.title.differs}`,
  ]
  const way =
    ways.find((name) => allDiffer(runs.map(name))) ?? ((run: Run) => `${modelWords(run.model).name} ${shortId(run.id)}`)
  return new Map(
    runs.map((run, index) => [run.id, { letter: letterOf(index), name: clip(way(run), 80), colour: colourOf(index) }]),
  )
}

/** The colour of a run by its place in the comparison. */
export function colourOf(index: number): string {
  return `var(--series-${(index % SERIES) + 1})`
}

/** A, B, C … in the order of the runs. */
export function letterOf(index: number): string {
  return String.fromCharCode(65 + index)
}

function allDiffer(names: readonly string[]): boolean {
  return names.every((name) => name.trim() !== '') && new Set(names).size === names.length
}
