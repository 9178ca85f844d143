/** What changed from one evaluation to a later one: code, dataset, model, settings. */
import type { Schema } from '../api/types'
import { written } from '../evaluate/settings'
import { plural } from '../format'

type Evaluation = Schema<'EvaluationDocument'>
type Evaluated = Pick<Schema<'RunSummary'>, 'model' | 'request'>

/** One thing that changed; `before` and `after` are empty where a run has none. */
export interface Change {
  /** What it is called in a list, and in a few words. */
  name: string
  short: string
  before: string
  after: string
}

/** Settings that stand on their own: the run has their value, whatever the configuration says. */
const OWN = new Set(['experiment.model_path', 'experiment.dataset', 'experiment.branch', 'experiment.commit_sha'])

/** What changed from one run to a later one, in the order in which people look for reasons. */
export function changesBetween(earlier: Evaluated, later: Evaluated): Change[] {
  const [before, after] = [earlier.request?.evaluation, later.request?.evaluation]
  if (before == null || after == null) return []
  const codes = before.snapshot === after.snapshot
  const found: Change[] = [
    { name: 'Code', short: 'code', before: codes ? '' : codeText(before), after: codes ? '' : codeText(after) },
    { name: 'Rollout', short: 'rollout', before: before.rollout, after: after.rollout },
    { name: 'Dataset', short: datasetShort(before, after), before: datasetText(before), after: datasetText(after) },
    { name: 'Rows', short: 'rows', before: rowsText(before), after: rowsText(after) },
    { name: 'Model', short: 'model', before: earlier.model, after: later.model },
    ...settingChanges(before, after),
  ]
  return found.filter((one) => one.before !== one.after)
}

/** Code in words: `main 9f2c1d0 Retry a tool call once`. */
export function codeText({ branch, commit, dirty, message }: Evaluation): string {
  const at = commit ? `${commit.slice(0, 7)}${dirty ? ' with changes' : ''}` : 'an upload'
  return [branch, at, message].filter(Boolean).join(' ')
}

function datasetText({ dataset, dataset_version: version }: Evaluation): string {
  return `${dataset} version ${version}`
}

function datasetShort(before: Evaluation, after: Evaluation): string {
  return before.dataset_id === after.dataset_id ? `dataset v${after.dataset_version}` : 'dataset'
}

function rowsText({ rows, limit }: Evaluation): string {
  if (rows) return rows
  if (limit == null) return 'as configured'
  return limit === 0 ? 'all' : `the first ${limit}`
}

function settingChanges(before: Evaluation, after: Evaluation): Change[] {
  const [old, now] = [settingsOf(before), settingsOf(after)]
  return [...new Set([...old.keys(), ...now.keys()])].sort().map((key) => ({
    name: key,
    short: key.split('.').at(-1) ?? key,
    before: old.get(key) ?? '',
    after: now.get(key) ?? '',
  }))
}

/** The settings of a configuration with those that took precedence, by `section.key`. */
function settingsOf({ config, assignments }: Evaluation): Map<string, string> {
  const found = new Map<string, string>()
  for (const [section, values] of Object.entries(config)) {
    if (!isTable(values)) continue
    for (const [key, value] of Object.entries(values)) found.set(`${section}.${key}`, written(value))
  }
  for (const [key, value] of Object.entries(assignments)) found.set(key, written(value))
  for (const key of OWN) found.delete(key)
  return found
}

function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Changes in a few words: `code, dataset v2`; what is many is counted. */
export function changeWords(changes: readonly Change[]): string {
  if (changes.length === 0) return 'nothing'
  const names = changes.map((one) => one.short)
  const shown = names.slice(0, 3)
  return names.length > 3 ? `${shown.join(', ')} and ${plural(names.length - 3, 'more setting')}` : shown.join(', ')
}
