/** What the form for runs of a benchmark holds, what is sent for each model, and what all of it comes to. */
import type { Schema } from '../../api/types'
import { tagList } from '../../evaluate/evaluation'

type Parameter = Schema<'ParameterDocument'>
type Body = Schema<'BenchmarkInput'>

/** The fields as they were typed; empty ones are those of the benchmark. */
export interface BenchmarkDraft {
  benchmark: string
  /** ID of the workspace; empty: the user's own runs. */
  workspace: string
  models: readonly string[]
  tasks: string
  trials: string
  parallel: string
  /** USD at which each run stops. */
  stop: string
  name: string
  tags: string
  /** Values of further parameters by their names, as text. */
  settings: Readonly<Record<string, string>>
}

export const FRESH: BenchmarkDraft = {
  benchmark: '',
  workspace: '',
  models: [],
  tasks: '',
  trials: '',
  parallel: '32',
  stop: '',
  name: '',
  tags: '',
  settings: {},
}

/** The most models of one submission. */
export const MOST_MODELS = 20

/** Parameters of the model and the run that every benchmark takes. */
export const GENERAL: readonly Parameter[] = [
  general('temperature', 'number', 'Sampling temperature of the model.'),
  general('max_tokens', 'integer', 'Tokens per reply.'),
  general('top_p', 'number', 'Nucleus sampling of the model.'),
  { ...general('reasoning_effort', 'text', 'Effort of reasoning models.'), choices: ['none', 'low', 'medium', 'high'] },
]

function general(name: string, type: string, help: string): Parameter {
  return {
    name,
    type,
    help,
    default: null,
    choices: [],
    minimum: null,
    maximum: null,
    aliases: [],
    sampling: false,
  }
}

/** The parameters that can be set in the form: all but the number of tasks, which has a field. */
export function settable(parameters: readonly Parameter[]): Parameter[] {
  const own = parameters.filter(({ sampling }) => !sampling)
  const names = new Set(own.map(({ name }) => name))
  return [...own, ...GENERAL.filter(({ name }) => !names.has(name))]
}

/** What is wrong with fields, by their names; that of a setting by `settings.NAME`. */
export type DraftProblems = Partial<Record<string, string>>

/** What is wrong before anything is sent. */
export function draftProblems(draft: BenchmarkDraft, parameters: readonly Parameter[]): DraftProblems {
  const found: DraftProblems = {}
  if (draft.benchmark === '') found.benchmark = 'Choose a benchmark.'
  if (draft.models.length === 0) found.models = 'Choose at least one model.'
  if (draft.models.length > MOST_MODELS) found.models = `At most ${MOST_MODELS} models at once.`
  for (const field of ['tasks', 'trials', 'parallel'] as const)
    if (draft[field].trim() !== '' && !whole(draft[field])) found[field] = 'Enter a whole number of at least 1.'
  if (draft.stop.trim() !== '' && !(Number(draft.stop) > 0)) found.stop = 'Enter an amount in USD, such as 10.'
  if (draft.name.trim() !== '' && draft.models.length > 1 && !draft.name.includes('{model}'))
    found.name = 'Several runs need different names: write {model} where the model’s name belongs.'
  for (const [name, text] of Object.entries(draft.settings)) {
    const parameter = parameters.find((one) => one.name === name)
    if (parameter !== undefined && valueIn(parameter, text) === undefined)
      found[`settings.${name}`] = `Enter ${WHAT[parameter.type] ?? 'a value'}.`
  }
  return found
}

const WHAT: Record<string, string> = {
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  text: 'a text',
  path: 'a dataset',
  list: 'a list as JSON',
  names: 'names, separated by commas',
  object: 'an object as JSON',
}

/** The value of a parameter as it is sent; undefined for a text that is none. */
export function valueIn({ type, choices }: Parameter, text: string): unknown {
  const given = text.trim()
  if (given === '') return undefined
  const choice = choices.find((one) => String(one) === given)
  if (choice !== undefined) return choice
  if (type === 'integer') return /^-?\d+$/.test(given) ? Number(given) : undefined
  if (type === 'number') return Number.isFinite(Number(given)) ? Number(given) : undefined
  if (type === 'boolean') return given === 'true' ? true : given === 'false' ? false : undefined
  if (type === 'list' || type === 'object') return parsed(given, type)
  return given
}

function parsed(text: string, type: 'list' | 'object'): unknown {
  try {
    const value: unknown = JSON.parse(text)
    const fits = Array.isArray(value) ? type === 'list' : type === 'object' && typeof value === 'object'
    return fits && value !== null ? value : undefined
  } catch {
    return undefined
  }
}

/** What is sent, a run for each model. */
export function bodiesOf(draft: BenchmarkDraft, parameters: readonly Parameter[]): Body[] {
  const known = settable(parameters)
  const settings = Object.entries(draft.settings).flatMap(([name, text]) => {
    const parameter = known.find((one) => one.name === name)
    const value = parameter && valueIn(parameter, text)
    return value === undefined ? [] : [[name, value] as const]
  })
  return draft.models.map(
    (model) =>
      // Fields with a default need not be sent; the type of a document has all of them.
      ({
        kind: 'benchmark',
        benchmark: draft.benchmark,
        model,
        parameters: Object.fromEntries(settings),
        max_examples: numberIn(draft.tasks),
        trials: numberIn(draft.trials),
        parallel: numberIn(draft.parallel) ?? 4,
        run_usd: numberIn(draft.stop),
        workspace: draft.workspace,
        name: draft.name.trim().replaceAll('{model}', slug(model)),
        tags: tagList(draft.tags),
      }) as Body,
  )
}

/** The name of a model as a part of the name of a run. */
export function slug(model: string): string {
  return model.replace(/^[^/]*\//, '').replace(/[^A-Za-z0-9._-]+/g, '-')
}

function numberIn(text: string): number | null {
  return text.trim() === '' ? null : Number(text)
}

function whole(text: string): boolean {
  return /^\d+$/.test(text.trim()) && Number(text) >= 1
}

/** What the chosen runs come to together, as far as it is known. */
export interface Total {
  episodes: number
  tokens: number | null
  /** Of the longest run: they go on side by side where there is room. */
  seconds: number | null
  refused: number
}

/** Add up a forecast. */
export function totalOf({ runs }: Schema<'Forecast'>): Total {
  const accepted = runs.filter(({ refused }) => refused === '')
  const tokens = accepted.flatMap((run) => (run.tokens === null ? [] : [run.tokens.value]))
  const seconds = accepted.flatMap((run) => (run.seconds === null ? [] : [run.seconds.value]))
  return {
    episodes: accepted.reduce((sum, { episodes }) => sum + episodes, 0),
    tokens: tokens.length === 0 ? null : tokens.reduce((sum, one) => sum + one, 0),
    seconds: seconds.length === 0 ? null : Math.max(...seconds),
    refused: runs.length - accepted.length,
  }
}

/** Runs that are submitted, and the models whose runs the server refused, with the reason. */
export interface Submitted {
  runs: { model: string; id: string }[]
  refused: { model: string; why: string }[]
}

/** Submit runs one after the other; a refused one does not keep the others. */
export async function submitAll<Wanted extends { model: string }>(
  wanted: readonly Wanted[],
  submit: (one: Wanted) => Promise<{ id: string }>,
): Promise<Submitted> {
  const found: Submitted = { runs: [], refused: [] }
  for (const one of wanted) {
    try {
      found.runs.push({ model: one.model, id: (await submit(one)).id })
    } catch (error) {
      found.refused.push({ model: one.model, why: error instanceof Error ? error.message : String(error) })
    }
  }
  return found
}
