/** What the form for an evaluation of a rollout holds, what is sent, and where a refusal belongs. */
import type { Schema } from '../api/types'
import { modelsProblem, nameOf, type Wanted } from '../launch/runs'
import { readSettings, settingsText } from './settings'

export type Code = Schema<'CodeDocument'>
type Evaluation = Schema<'EvaluationDocument'>

/** Which rows are run: those of the configuration, all, the first ones, or those that are listed. */
export type RowChoice = 'configured' | 'all' | 'first' | 'chosen'

/** The fields as they were typed. Empty ones are as configured. */
export interface Draft {
  workspace: string
  /** The code, as `codeKey` names it; `same`: that of the run that is repeated. */
  code: string
  configuration: string
  /** Each has a run of its own; none: the configured one. */
  models: readonly string[]
  dataset: string
  /** A version of the dataset; empty: the newest. */
  version: string
  choice: RowChoice
  first: string
  rows: string
  trials: string
  name: string
  tags: string
  settings: string
}

/** What the form begins with. */
export const FRESH: Draft = {
  workspace: '',
  code: '',
  configuration: '',
  models: [],
  dataset: '',
  version: '',
  choice: 'configured',
  first: '',
  rows: '',
  trials: '',
  name: '',
  tags: '',
  settings: '',
}

/** The code of the run that is repeated. */
export const SAME = 'same'

/** What is wrong with fields, by their names. */
export type Problems = Partial<Record<keyof Draft, string>>

/** What tells one code of a workspace from the others. */
export function codeKey({ kind, branch, snapshot }: Pick<Code, 'kind' | 'branch' | 'snapshot'>): string {
  return kind === 'commit' ? `branch:${branch}` : `upload:${snapshot}`
}

/** Code in a few words: `main, 9f2c1d0`. */
export function codeLabel(code: Pick<Code, 'kind' | 'branch' | 'commit' | 'dirty' | 'author'>): string {
  const commit = code.commit.slice(0, 7)
  if (code.kind === 'commit') return `${code.branch}, ${commit}`
  const from = commit ? ` of ${commit}${code.dirty ? ' with changes' : ''}` : ''
  return `upload${from}${code.author ? ` by ${code.author}` : ''}`
}

const MODEL = 'experiment.model_path'
const TRIALS = 'evaluation.n'

/** The form for a run again: with everything that it was submitted with. */
export function draftOf(evaluation: Evaluation, tags: readonly string[]): Draft {
  const { [MODEL]: model, [TRIALS]: trials, ...settings } = evaluation.assignments
  const { rows, limit } = evaluation
  const choice: RowChoice = rows ? 'chosen' : limit == null ? 'configured' : limit === 0 ? 'all' : 'first'
  return {
    ...FRESH,
    workspace: evaluation.workspace,
    code: SAME,
    configuration: evaluation.configuration,
    models: typeof model === 'string' ? [model] : [],
    dataset: evaluation.dataset_id,
    version: String(evaluation.dataset_version),
    choice,
    first: choice === 'first' ? String(limit) : '',
    rows,
    trials: trials === undefined ? '' : String(trials),
    tags: tags.join(', '),
    settings: settingsText(settings),
  }
}

/** What is wrong before anything is sent. */
export function draftProblems(draft: Draft): Problems {
  const found: Problems = {}
  if (draft.workspace === '') found.workspace = 'Choose a workspace.'
  if (draft.code === '') found.code = 'Choose the code.'
  if (draft.configuration === '' && draft.code !== SAME) found.configuration = 'Choose a configuration.'
  const models = draft.models.length === 0 ? undefined : modelsProblem(draft.models)
  if (models) found.models = models
  if (draft.choice === 'first' && !whole(draft.first)) found.first = 'Enter a whole number of at least 1.'
  if (draft.choice === 'chosen' && draft.rows.trim() === '') found.rows = 'Enter rows, such as 3, 7, 10-20.'
  if (draft.trials.trim() !== '' && !whole(draft.trials)) found.trials = 'Enter a whole number of at least 1.'
  try {
    readSettings(draft.settings)
  } catch (error) {
    found.settings = error instanceof Error ? error.message : String(error)
  }
  return found
}

/** What is sent for each of the models, or once for the configured one. */
export function bodiesOf(
  draft: Draft,
  codes: readonly Code[],
  earlier?: Pick<Schema<'RunSummary'>, 'id' | 'request'>,
): Wanted[] {
  const several = draft.models.length > 1
  const models = draft.models.length === 0 ? [''] : draft.models
  return models.map((model) => ({
    model,
    body: draftBody({ ...draft, name: nameOf(draft.name, model, several) }, model, codes, earlier),
  }))
}

/** What is sent. `earlier` is the run that is repeated: with the same code it gives the configuration as it was. */
function draftBody(
  draft: Draft,
  model: string,
  codes: readonly Code[],
  earlier?: Pick<Schema<'RunSummary'>, 'id' | 'request'>,
): Schema<'RolloutInput'> {
  const evaluation = earlier?.request?.evaluation
  const repeats = draft.code === SAME && earlier !== undefined && evaluation != null
  const code = codes.find((one) => codeKey(one) === draft.code)
  const given = {
    kind: 'rollout' as const,
    workspace: draft.workspace,
    configuration: draft.configuration,
    assignments: assignments(draft, model),
    name: draft.name,
    tags: tagList(draft.tags),
    rows: draft.choice === 'chosen' ? draft.rows.trim() : '',
    limit: draft.choice === 'all' ? 0 : draft.choice === 'first' ? Number(draft.first) : null,
    dataset: draft.dataset,
    dataset_version: draft.version === '' ? null : Number(draft.version),
    ...(repeats && { from_run: earlier.id, config: evaluation.config }),
    ...(code?.kind === 'commit' && { branch: code.branch, commit: code.commit }),
    ...(code?.kind === 'upload' && { snapshot: code.snapshot }),
  }
  // Fields with a default need not be sent; the type of a document has all of them.
  return given as Schema<'RolloutInput'>
}

function assignments(draft: Draft, model: string): Record<string, unknown> {
  const found = readSettings(draft.settings)
  if (model !== '') found[MODEL] = model
  if (draft.trials.trim() !== '') found[TRIALS] = Number(draft.trials)
  return found
}

/** Tags as people write them: `baseline, try`. */
export function tagList(text: string): string[] {
  return [...new Set(text.split(',').map((tag) => tag.trim()))].filter(Boolean)
}

/** The fields of the form by the places that the server names them with. */
const PLACES: Record<string, keyof Draft> = {
  workspace: 'workspace',
  configuration: 'configuration',
  'experiment.rollout': 'configuration',
  'experiment.entrypoint': 'configuration',
  [MODEL]: 'models',
  model: 'models',
  dataset: 'dataset',
  'experiment.dataset': 'dataset',
  dataset_version: 'version',
  rows: 'rows',
  limit: 'first',
  'evaluation.limit': 'first',
  [TRIALS]: 'trials',
  name: 'name',
  tags: 'tags',
  branch: 'code',
  commit: 'code',
  snapshot: 'code',
}

/** Problems that the server told, at the fields that are shown; the rest by their own names. */
export function placed(fields: Readonly<Record<string, string>>, draft: Draft): { at: Problems; rest: string[] } {
  const at: Problems = {}
  const rest: string[] = []
  for (const [place, words] of Object.entries(fields)) {
    const bare = place.replace(/^(rollout|assignments)\./, '')
    const named = Object.entries(PLACES).find(([known]) => bare === known || bare.startsWith(`${known}.`))?.[1]
    const field = named ?? (readQuietly(draft.settings, bare) ? 'settings' : undefined)
    if (field === undefined || hidden(field, draft)) rest.push(`${bare}: ${words}`)
    else at[field] ??= field === 'settings' ? `${bare}: ${words}` : words
  }
  return { at, rest }
}

/** Whether a field is not shown now. */
function hidden(field: keyof Draft, { choice }: Draft): boolean {
  return (field === 'first' && choice !== 'first') || (field === 'rows' && choice !== 'chosen')
}

function readQuietly(settings: string, key: string): boolean {
  try {
    return key in readSettings(settings)
  } catch {
    return false
  }
}

function whole(text: string): boolean {
  return /^\d+$/.test(text.trim()) && Number(text) >= 1
}

/** The fields with what is chosen without being asked: the first code, and its configuration where it has only one. */
export function withDefaults(draft: Draft, codes: readonly Code[]): Draft {
  const chosen = draft.code === '' && codes[0] !== undefined ? { ...draft, code: codeKey(codes[0]) } : draft
  const valid = configurationsOf(chosen, codes).filter((one) => one.valid)
  return chosen.configuration === '' && valid.length === 1 ? { ...chosen, configuration: valid[0]?.path ?? '' } : chosen
}

/** The configurations of the chosen code. */
export function configurationsOf({ code }: Pick<Draft, 'code'>, codes: readonly Code[]): Code['configurations'] {
  return codes.find((one) => codeKey(one) === code)?.configurations ?? []
}

/** The chosen configuration as the code has it; nothing for that of an earlier run. */
export function configuredIn(draft: Draft, codes: readonly Code[]): Code['configurations'][number] | undefined {
  return configurationsOf(draft, codes).find(({ path }) => path === draft.configuration)
}
