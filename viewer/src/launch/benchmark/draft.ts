/** What the form for runs of a benchmark holds, what is sent for each model, and what all of it comes to. */
import type { Schema } from '../../api/types'
import { tagList } from '../../evaluate/evaluation'
import { modelsProblem, nameOf, type Wanted } from '../runs'

type Parameter = Schema<'ParameterDocument'>

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
  const models = modelsProblem(draft.models)
  if (models) found.models = models
  for (const field of ['tasks', 'trials', 'parallel'] as const)
    if (draft[field].trim() !== '' && !whole(draft[field])) found[field] = 'Enter a whole number of at least 1.'
  if (draft.stop.trim() !== '' && !(Number(draft.stop) > 0)) found.stop = 'Enter an amount in USD, such as 10.'
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
export function bodiesOf(draft: BenchmarkDraft, parameters: readonly Parameter[]): Wanted[] {
  const known = settable(parameters)
  const settings = Object.entries(draft.settings).flatMap(([name, text]) => {
    const parameter = known.find((one) => one.name === name)
    const value = parameter && valueIn(parameter, text)
    return value === undefined ? [] : [[name, value] as const]
  })
  return draft.models.map((model) => ({
    model,
    // Fields with a default need not be sent; the type of a document has all of them.
    body: {
      kind: 'benchmark',
      benchmark: draft.benchmark,
      model,
      parameters: Object.fromEntries(settings),
      max_examples: numberIn(draft.tasks),
      trials: numberIn(draft.trials),
      parallel: numberIn(draft.parallel) ?? 4,
      run_usd: numberIn(draft.stop),
      workspace: draft.workspace,
      name: nameOf(draft.name, model, draft.models.length > 1),
      tags: tagList(draft.tags),
    } as Schema<'BenchmarkInput'>,
  }))
}

function numberIn(text: string): number | null {
  return text.trim() === '' ? null : Number(text)
}

function whole(text: string): boolean {
  return /^\d+$/.test(text.trim()) && Number(text) >= 1
}
